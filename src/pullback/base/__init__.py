"""What everything else stands on: errors, types, devices, shapes, memory layout, printing, and the thread's state."""
