"""Canaille with the gateway, another application and one user in memory, who is removed by a line on stdin. Arguments: port,
password, secret, redirect URI, address after sign-out, redirect URI of the other application, and the gateway's keys ("": none)."""
import datetime
import secrets
import sys
import threading

from canaille import create_app
from canaille.app import models
from canaille.backends import Backend
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

port, password, secret, redirect_uri, signed_out, other_uri, jwks = sys.argv[1:]
app = create_app(
    {
        "SECRET_KEY": secrets.token_hex(32),
        "SERVER_NAME": f"127.0.0.1:{port}",
        "PREFERRED_URL_SCHEME": "http",
        "SESSION_COOKIE_SECURE": False,
        "CANAILLE": {"DATABASE": "memory"},
        "CANAILLE_OIDC": {"ACTIVE_JWKS": [RSAKey.generate_key(2048).as_dict(private=True)]},
    }
)
with app.app_context():
    backend = Backend.instance
    user = models.User(
        user_name="alice",
        password=password,
        emails=["alice@example.com"],
        formatted_name="Alice Example",
        family_name="Example",
        given_name="Alice",
    )
    backend.save(user)
    client = models.Client(
        client_id="gateway",
        client_secret=secret,
        client_name="gateway",
        client_uri=redirect_uri,
        redirect_uris=[redirect_uri],
        post_logout_redirect_uris=[signed_out],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        scope=["openid", "profile", "email", "groups", "offline_access"],
        token_endpoint_auth_method="private_key_jwt" if jwks else "client_secret_basic",
        **({"jwks": jwks} if jwks else {}),
        client_id_issued_at=datetime.datetime.now(datetime.timezone.utc),
    )
    backend.save(client)
    client.audience = [client]
    backend.save(client)
    other = models.Client(
        client_id="wiki",
        client_name="wiki",
        client_uri=other_uri,
        redirect_uris=[other_uri],
        grant_types=["authorization_code"],
        response_types=["code"],
        scope=["openid"],
        token_endpoint_auth_method="none",
        client_id_issued_at=datetime.datetime.now(datetime.timezone.utc),
    )
    backend.save(other)
    other.audience = [other]
    backend.save(other)
server = make_server("127.0.0.1", int(port), app, threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("Listening", flush=True)
for line in sys.stdin:
    with app.app_context():
        backend.delete(backend.get(models.User, user_name=line.strip()))
    print(f"Removed {line.strip()}", flush=True)
