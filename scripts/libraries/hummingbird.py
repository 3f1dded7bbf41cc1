# pip install hummingbird-ml
import numpy as np
from hummingbird.ml import convert
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

random = np.random.default_rng(0)
x = random.normal(size=(60, 4)).astype("float32")
y = (x[:, 0] + x[:, 1] ** 2 > 0.5).astype(int)
for model in (
    RandomForestClassifier(5, random_state=0),
    GradientBoostingRegressor(n_estimators=5, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
):
    model.fit(x, y)
    converted = convert(model, "torch")
    out = converted.predict_proba(x) if hasattr(model, "predict_proba") else converted.predict(x)
    print(type(model).__name__, float(np.abs(out).sum()), float(np.abs(out).std()))
