"""How a page of the manager comes about: routes, rendering as HTML and JSON, forms, errors, headers.

    routes.py      one row per page or change
    requests.py    what a handler is given
    answers.py     pages and changes, which handlers return
    dispatch.py    from a request to a handler and back
    rendering.py   templates, and what all of them share
    bodies.py      forms and JSON bodies as fields
    values.py      models as JSON
    openapi.py     the description of the JSON interface
    admission.py   sessions, logins, roles and CSRF tokens
    failures.py    errors as pages
    headers.py     headers of every response, and hosts
    streaming.py   responses that are made while they are sent
    navigation.py  the menus
    formats.py     numbers, sizes and times for readers

Beside them: templates/ and static/ (LICENSES.md names the licences of others' files).
"""
