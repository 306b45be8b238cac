"""Starts moto so that a request costs it less of the processor, and for all packages of a test run if told so.

What it works out anew for every request, and which never changes, is remembered; a connection stays open for the next
request; no request is logged.

EMULATOR_RUN is the process id of a test run. Descriptor 3 is then a socket that listens: whoever connects is told the
address, and holds the emulator by the connection. It ends when the run is over and nobody holds it.
"""

import functools
import gc
import io
import os
import resource
import selectors
import socket
import sys
import threading
import traceback
from email.utils import formatdate
from urllib.parse import quote, unquote, urlsplit

import flask
import flask.debughelpers
import moto.backends
import moto.core.errors
import moto.core.responses
import moto.core.utils
import moto.server
from moto.core.base_backend import BackendDict
from moto.core.request import (
    PRESERVED_HEADER_NAMES_ENVIRON_KEY,
    environ_key_for_header,
    should_preserve_original_header_name,
)
from moto.core.resource_tagging import TaggedResource
from moto.events.models import EventsBackend
from moto.moto_api._internal.moto_random import MotoRandom
from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from moto.resourcegroupstaggingapi.models import ResourceGroupsTaggingAPIBackend
from moto.ssm.responses import SimpleSystemManagerResponse
from werkzeug.exceptions import InternalServerError
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler

modules = frozenset(moto.backends.list_of_moto_modules())
moto.backends.list_of_moto_modules = lambda: modules
moto.core.responses.method_names_from_class = functools.cache(
    moto.core.responses.method_names_from_class
)
errors = moto.core.errors.ErrorLookupFactory
errors._create_error_lut = staticmethod(functools.cache(errors._create_error_lut))
underscored = functools.cache(moto.core.utils.camelcase_to_underscores)
moto.core.utils.camelcase_to_underscores = underscored
moto.core.responses.camelcase_to_underscores = underscored
DomainDispatcherApplication.get_backend_for_host = functools.cache(
    DomainDispatcherApplication.get_backend_for_host
)
created = BackendDict._create_account_specific_backend


def created_once(self, account_id):
    if account_id not in self:  # moto makes a list of all accounts to find that out
        created(self, account_id)


BackendDict._create_account_specific_backend = created_once


def random_string(self, length=20, include_digits=True, lower_case=False):
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    drawn = "".join(self.choices(letters + "0123456789" * include_digits, k=length))
    return drawn.lower() if lower_case else drawn


MotoRandom.get_random_string = random_string


get_resources = ResourceGroupsTaggingAPIBackend.get_resources


def get_all_resources(self, **asked):
    """Answers in one page when it is asked by ARN, as AWS does: it takes at most a hundred."""
    if asked.get("resource_arn_list"):
        asked.update(resources_per_page=1000, tags_per_page=100000)
    return get_resources(self, **asked)


ResourceGroupsTaggingAPIBackend.get_resources = get_all_resources


tagged_buses = EventsBackend.iter_tagged_resources


def tagged_events(self):
    """Are rules too, which the tagging service knows."""
    yield from tagged_buses(self)
    for bus in self.event_buses.values():
        for rule in bus.rules.values():
            tags = self.tagger.get_tag_dict_for_resource(rule.arn)
            yield TaggedResource(arn=rule.arn, tags=tags, resource_type="events:rule")


EventsBackend.iter_tagged_resources = tagged_events


def describe_parameters(self):
    """Answers with as many parameters as MaxResults says."""
    found = self.ssm_backend.describe_parameters(
        self._get_param("Filters"), self._get_param("ParameterFilters")
    )
    begin = int(self._get_param("NextToken") or 0)
    end = begin + int(self._get_param("MaxResults") or 10)
    answer = {
        "Parameters": [p.describe_response_object(False) for p in found[begin:end]]
    }
    if end < len(found):
        answer["NextToken"] = str(end)
    return moto.core.responses.ActionResult(answer)


SimpleSystemManagerResponse.describe_parameters = describe_parameters


class Handler(WSGIRequestHandler):
    """Answers the requests of a connection one after another: whole ones, whose length is said before them."""

    def handle(self):
        try:
            while self.answer():
                pass
        except ConnectionError:
            pass  # the caller is gone

    def answer(self):
        """Answers one request, and says whether another may come."""
        first = self.rfile.readline().decode("latin-1").split()
        if len(first) != 3:
            return False
        headers = []
        while line := self.rfile.readline().decode("latin-1").rstrip("\r\n"):
            name, _, value = line.partition(":")
            headers.append((name, value.strip()))
        environ = self.environ_of(*first, headers)
        if environ.get("HTTP_EXPECT", "").lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = self.rfile.read(int(environ.get("CONTENT_LENGTH", 0)))
        environ["wsgi.input"] = io.BytesIO(body)
        self.wfile.write(self.called(environ))
        return environ.get("HTTP_CONNECTION", "").lower() != "close"

    def environ_of(self, command, target, version, headers):
        """Is what make_environ of moto's own handler makes."""
        url = urlsplit(target)
        path = f"/{url.netloc}{url.path}" if url.netloc and not url.scheme else url.path
        environ = {
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            "REQUEST_METHOD": command,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote(path).encode().decode("latin-1"),
            "QUERY_STRING": url.query,
            "REQUEST_URI": target,
            "RAW_URI": target,
            "REMOTE_ADDR": self.client_address[0],
            "REMOTE_PORT": self.client_address[1],
            "SERVER_NAME": self.server.server_address[0],
            "SERVER_PORT": str(self.server.server_address[1]),
            "SERVER_PROTOCOL": version,
        }
        kept = {}
        for name, value in headers:
            if "_" not in name:
                key = environ_key_for_header(name)
                if key.startswith("HTTP_") and key in environ:
                    value = f"{environ[key]},{value}"
                environ[key] = value
        dashed = set(environ)
        for name, value in headers:
            key = environ_key_for_header(name)
            if should_preserve_original_header_name(name) and key not in dashed:
                environ[key] = f"{environ[key]},{value}" if key in kept else value
                kept.setdefault(key, name)
        environ[PRESERVED_HEADER_NAMES_ENVIRON_KEY] = kept
        return environ

    def called(self, environ):
        """Is the answer of the application to a request, as it goes over the wire."""
        try:
            return self.answered(self.server.app, environ)
        except NotImplementedError:
            return self.answered(InternalServerError(), environ)
        except Exception:
            answer = InternalServerError().get_response()
            answer.headers["X-Emulator-Failed"] = quote(traceback.format_exc())
            return self.answered(answer, environ)

    def answered(self, app, environ):
        start = []
        parts = app(environ, lambda *given: start.append(given))
        try:
            body = b"".join(parts)
        finally:
            if hasattr(parts, "close"):
                parts.close()
        status, headers = start[-1][:2]
        lines = [f"HTTP/1.1 {status}", f"Date: {formatdate(usegmt=True)}"]
        lines += [f"{name}: {value}" for name, value in headers]
        bodiless = environ["REQUEST_METHOD"] == "HEAD" or status[:3] in ("204", "304")
        if not bodiless and not any(n.lower() == "content-length" for n, _ in headers):
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join([*lines, "", ""]).encode("latin-1")
        return head if bodiless else head + body


def held(run, server):
    """Returns when the run is over and nobody holds the emulator."""
    door = socket.socket(fileno=3)
    waiting = selectors.DefaultSelector()
    waiting.register(door, selectors.EVENT_READ)
    try:
        waiting.register(os.pidfd_open(run), selectors.EVENT_READ, "run")
        over = False
    except ProcessLookupError:
        over = True
    holders = 0
    while holders or not over:
        for key, _ in waiting.select():
            if key.fileobj is door:
                holder, _ = door.accept()
                try:
                    holder.sendall(f"http://127.0.0.1:{server.port}\n".encode())
                except ConnectionError:
                    pass  # which the next round sees
                waiting.register(holder, selectors.EVENT_READ)
                holders += 1
            elif key.data == "run":
                waiting.unregister(key.fileobj)
                over = True
            else:
                waiting.unregister(key.fileobj)
                key.fileobj.close()
                holders -= 1


def serve(self):
    """Says where the server listens, and ends it when nobody needs it any more."""
    announce(self)
    sys.stderr.flush()
    if run := os.environ.get("EMULATOR_RUN"):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # who reads it may end earlier
        threading.Thread(target=lambda: (held(int(run), self), os._exit(0))).start()




def told(self, exception):
    """Passes on an exception of moto's own code: Flask would write it where nobody reads it."""
    raise exception


flask.Flask.handle_exception = told

# In the debug mode of moto's applications every request would get a class of its own, for a hint about forms.
flask.debughelpers.attach_enctype_error_multidict = lambda request: None

# The packages of a run keep a connection open for each proxy that they have.
now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
wanted = 10240 if most == resource.RLIM_INFINITY else min(most, 10240)
resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, wanted), most))

# What is loaded stays. Requests leave few cycles behind, and what they create mostly stays as well.
gc.freeze()
gc.set_threshold(20000, 20, 100)

announce, BaseWSGIServer.log_startup = BaseWSGIServer.log_startup, serve
moto.server.MotoRequestHandler = Handler
sys.exit(moto.server.main(sys.argv[1:]))
