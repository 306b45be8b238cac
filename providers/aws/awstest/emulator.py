"""Starts moto with what it works out anew for every request, and which never changes, remembered."""

import functools
import sys

import moto.backends
import moto.core.errors
import moto.core.responses
from moto.server import main

modules = frozenset(moto.backends.list_of_moto_modules())
moto.backends.list_of_moto_modules = lambda: modules
moto.core.responses.method_names_from_class = functools.cache(
    moto.core.responses.method_names_from_class
)
errors = moto.core.errors.ErrorLookupFactory
errors._create_error_lut = staticmethod(functools.cache(errors._create_error_lut))

sys.exit(main(sys.argv[1:]))
