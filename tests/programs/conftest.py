collect_ignore = ["scripts"]  # programs, not modules: importing one runs it
