# SPDX-License-Identifier: LGPL-2.1-or-later
"""The version of this package, which is that of the library."""

__version__ = "0.2.0"
