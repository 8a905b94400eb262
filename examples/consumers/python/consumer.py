# SPDX-License-Identifier: Apache-2.0
"""Keeps a shop's own copy of the levels by Holdfast's events. Only the standard library.

python3 consumer.py                 receives webhooks on 127.0.0.1:PORT
python3 consumer.py catch-up        reads the feed from where it was last read to its end
python3 consumer.py catch-up --anew reads every level first, then the feed from its beginning
"""

import base64
import binascii
import contextlib
import hmac
import http.server
import json
import os
import re
import sqlite3
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

BODY_BYTES_MAX = 64 * 1024
TOLERANCE_SECONDS = 5 * 60
SEEN_DAYS = 60  # longer than Holdfast keeps events (events_keep_days), so no repeat comes later

SCHEMA = """
CREATE TABLE IF NOT EXISTS level (
    sku TEXT, location TEXT, version INTEGER NOT NULL,
    on_hand INTEGER NOT NULL, reserved INTEGER NOT NULL, available INTEGER NOT NULL,
    PRIMARY KEY (sku, location));
CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY, at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS feed (one INTEGER PRIMARY KEY CHECK (one = 1), next_after TEXT NOT NULL);
"""


def open_store():
    # Transactions are written out below; python must not begin any of its own.
    store = sqlite3.connect(os.environ.get("STATE", "holdfast-state.sqlite"), 10,
                            isolation_level=None)
    store.executescript(SCHEMA)
    return store


def prepare_store():
    """Also finds a path that cannot be written now, and not at the first event."""
    with contextlib.closing(open_store()) as store:
        store.execute("DELETE FROM seen WHERE at < ?", (time.time() - SEEN_DAYS * 86400,))


@contextlib.contextmanager
def transaction(store):
    store.execute("BEGIN IMMEDIATE")  # a catch-up beside the server waits here
    try:
        yield
        store.execute("COMMIT")
    except BaseException:
        store.execute("ROLLBACK")
        raise


def store_level(store, level):
    """Levels are absolute and versions only grow, so an older one has nothing to say."""
    values = [level[name] for name in
              ("sku", "location", "version", "on_hand", "reserved", "available")]
    return store.execute(
        "INSERT INTO level VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (sku, location) DO UPDATE"
        " SET version = excluded.version, on_hand = excluded.on_hand,"
        " reserved = excluded.reserved, available = excluded.available"
        " WHERE excluded.version >= level.version", values).rowcount == 1


def apply(store, event):
    """Applies one event in the caller's transaction. Returns the line that tells of it, which is
    printed after the commit."""
    name = "{type} {sku} {location} v{version}".format(**event)
    if store.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)",
                     (event["id"], time.time())).rowcount == 0:
        return f"dropped {name}: seen before"
    # Work that each event must cause once, even one that comes late (an order's state, a mail to
    # be sent), is written here, in the same transaction.
    # An edge (stock.low …) has the version of the event that caused it: equal is not stale.
    if not store_level(store, event):
        return f"dropped {name}: stale"
    return f"applied {name} available {event['available']}"


def is_genuine(secret, headers, body):
    """Standard Webhooks: HMAC-SHA256 over id.timestamp.body, the body exactly as it came."""
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not message_id or not re.fullmatch("[0-9]{1,12}", timestamp):
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False  # a recording, played again
    signed = b".".join([message_id.encode(), timestamp.encode(), body])
    expected = b"v1," + base64.b64encode(hmac.digest(secret, signed, "sha256"))
    # Two signatures while the secret is being changed; one that fits is enough.
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(expected, one.encode()) for one in given)


class Receiver(http.server.BaseHTTPRequestHandler):
    timeout = 15  # a sender that stops in the middle must not keep us

    def do_POST(self):
        try:
            status = self.receive()
        except sqlite3.Error as error:
            print(f"not stored: {error}", file=sys.stderr, flush=True)
            status = 500  # Holdfast sends it again
        self.send_response(status)
        self.end_headers()

    def receive(self):
        if self.path != "/webhook":
            return 404
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,9}", length):
            return 411
        if int(length) > BODY_BYTES_MAX:
            return 413
        body = self.rfile.read(int(length))
        if not is_genuine(self.server.secret, self.headers, body):
            return 400
        try:
            message = json.loads(body)
            event = message.get("data")
            if isinstance(event, dict) and "version" in event:
                with contextlib.closing(open_store()) as store, transaction(store):
                    line = apply(store, event)
            else:  # webhook.test, or a kind of message that is newer than this program
                line = f"dropped {message['type']}: has no level"
        except (ValueError, KeyError, TypeError, AttributeError):  # not as Holdfast writes it
            return 400
        print(line, flush=True)
        return 204

    def log_message(self, *_):
        pass  # one line for each event is enough


def serve():
    try:
        secret = os.environ.get("HOLDFAST_WEBHOOK_SECRET", "").removeprefix("whsec_")
        key = base64.b64decode(secret, validate=True)
    except binascii.Error:
        key = b""
    if not key:
        sys.exit("HOLDFAST_WEBHOOK_SECRET must be the whsec_… that Holdfast gave")
    prepare_store()
    address = ("127.0.0.1", int(os.environ.get("PORT", "9000")))
    server = http.server.ThreadingHTTPServer(address, Receiver)
    server.secret = key
    print(f"listening on http://127.0.0.1:{server.server_port}/webhook", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


def get(path, **query):
    request = urllib.request.Request(
        os.environ["HOLDFAST_URL"] + path + "?" + urllib.parse.urlencode(query),
        headers={"Authorization": "Bearer " + os.environ["HOLDFAST_KEY"]})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        text = refused.read().decode(errors="replace")
        if refused.code == 410 and "events-expired" in text:
            sys.exit("The feed no longer goes back to where it was last read: events were missed."
                     " Run: catch-up --anew")
        sys.exit(f"GET {path}: {refused.code} {text}")
    except OSError as error:
        sys.exit(f"GET {path}: {error}. What was applied is stored; run it again.")


def read_levels(store):
    cursor = ""
    while cursor is not None:
        page = get("/v1/stock", limit=200, cursor=cursor)
        with transaction(store):
            for item in page["data"]:
                for level in item["levels"]:
                    store_level(store, {"sku": item["sku"], **level})
        cursor = page["next_cursor"]


def catch_up(anew):
    prepare_store()
    store = open_store()
    if anew:
        # Levels first: what changes meanwhile stands in the feed. The other way round has a gap.
        read_levels(store)
        after = ""
    else:
        after = (store.execute("SELECT next_after FROM feed").fetchone() or ("",))[0]
    while True:
        page = get("/v1/events", limit=200, **({"after": after} if after else {}))
        # Effects and cursor together: a crash in between neither skips nor repeats.
        with transaction(store):
            lines = [apply(store, event) for event in page["data"]]
            store.execute("INSERT OR REPLACE INTO feed VALUES (1, ?)", (page["next_after"],))
        for line in lines:
            print(line, flush=True)
        if page["next_after"] == after:
            break
        after = page["next_after"]


if __name__ == "__main__":
    if sys.argv[1:] in (["catch-up"], ["catch-up", "--anew"]):
        catch_up(anew="--anew" in sys.argv)
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        serve()
