"""A throttle of Django REST framework with the cache of one process; RATE is in the environment. The client is its
X-Api-Key."""
import os

import django
from django.conf import settings

settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="none",
                   CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
                   REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": [], "DEFAULT_PERMISSION_CLASSES": [],
                                   "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
                                   "UNAUTHENTICATED_USER": None})
django.setup()

from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import path  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.throttling import SimpleRateThrottle  # noqa: E402
from rest_framework.views import APIView  # noqa: E402


class ByKey(SimpleRateThrottle):
    rate = os.environ["RATE"]

    def get_cache_key(self, request, view):
        return request.headers.get("X-Api-Key")


class Greeting(APIView):
    throttle_classes = [ByKey]

    def get(self, request):
        return Response("ok")


urlpatterns = [path("", Greeting.as_view())]
app = get_wsgi_application()
