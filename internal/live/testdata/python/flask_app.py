"""Flask-Limiter with its memory storage; LIMITS and STRATEGY are in the environment. The client is its X-Api-Key."""
import os

from flask import Flask, request
from flask_limiter import Limiter

app = Flask(__name__)
Limiter(lambda: request.headers.get("X-Api-Key"), app=app, default_limits=[os.environ["LIMITS"]],
        strategy=os.environ["STRATEGY"], storage_uri="memory://")


@app.get("/")
def index():
    return "ok\n"
