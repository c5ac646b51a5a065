"""Calls the functions of DSpace's Python client that write, and prints what comes of each: one line of JSON."""

import json
import logging
import sys
import tempfile

from dspace_rest_client.client import DSpaceClient
from dspace_rest_client.models import Group, Item, ResourcePolicy, User

errors = []


class Keep(logging.Handler):
    def emit(self, record):
        errors.append(record.getMessage())


logging.getLogger().addHandler(Keep())

endpoint, user, password = sys.argv[1:4]
client = DSpaceClient(api_endpoint=endpoint, username=user, password=password)


def ask(name, call, right):
    """Prints whether the call gave what is right, or raised an error."""
    errors.clear()
    try:
        given = call()
        print(json.dumps({'call': name, 'right': bool(right(given)), 'given': f'{given} {errors}'[:300]}), flush=True)
        return given
    except Exception as error:  # every failure is a line
        print(json.dumps({'call': name, 'right': False, 'given': f'{error!r} {errors}'[:300]}), flush=True)
        return None


def metadata(**fields):
    return {name.replace('_', '.'): [{'value': value, 'language': 'en', 'authority': None, 'confidence': -1}]
            for name, value in fields.items()}


ask('authenticate', client.authenticate, lambda it: it)

person = ask('create_user', lambda: client.create_user({
    'name': 'new@example.org', 'email': 'new@example.org', 'canLogIn': True, 'requireCertificate': False,
    'metadata': {'eperson.firstname': [{'value': 'Ada'}], 'eperson.lastname': [{'value': 'Lovelace'}]}}),
    lambda it: isinstance(it, User) and it.uuid and it.email == 'new@example.org')
ask('get_users', client.get_users, lambda it: 'new@example.org' in [one.email for one in it])
ask('get_users_iter', lambda: list(client.get_users_iter()), lambda it: len(it) == 2)
group = ask('create_group', lambda: client.create_group({'name': 'Curators', 'metadata': {}}),
            lambda it: isinstance(it, Group) and it.uuid)
ask('search_groups_by_metadata', lambda: list(client.search_groups_by_metadata_iter('curat')),
    lambda it: [one.name for one in it] == ['Curators'])
ask('add a member', lambda: client.api_post_uri(
    f'{endpoint}/eperson/groups/{group.uuid}/epersons', None, f'{endpoint}/eperson/epersons/{person.uuid}').status_code,
    lambda it: it == 204)

item = ask('create_item', lambda: client.create_item('', Item({
    'name': 'Letters', 'metadata': metadata(dc_title='Letters', dc_contributor_author='Doe, Ruth'),
    'inArchive': True, 'discoverable': True, 'withdrawn': False, 'type': 'item'})),
    lambda it: it.uuid and it.name == 'Letters')
ask('get_item', lambda: client.get_item(item.uuid).json()['name'], lambda it: it == 'Letters')
ask('add_metadata', lambda: client.add_metadata(item, 'dc.subject', 'coast', language='en'),
    lambda it: it.metadata['dc.subject'][0]['value'] == 'coast')
item.metadata['dc.title'][0]['value'] = 'Letters from the coast'
ask('update_item', lambda: client.update_item(item), lambda it: it.name == 'Letters from the coast')

bundle = ask('create_bundle', lambda: client.create_bundle(item, 'ORIGINAL'), lambda it: it.uuid and it.name == 'ORIGINAL')
ask('get_bundles', lambda: client.get_bundles(item), lambda it: [one.name for one in it] == ['ORIGINAL'])
with tempfile.NamedTemporaryFile('w', suffix='.txt') as file:
    file.write('from the client')
    file.flush()
    bitstream = ask('create_bitstream', lambda: client.create_bitstream(
        bundle, 'letter.txt', file.name, 'text/plain', metadata(dc_description='A letter')),
        lambda it: it.uuid and it.name == 'letter.txt' and it.sizeBytes == 15)
ask('get_bitstreams', lambda: client.get_bitstreams(bundle=bundle), lambda it: [one.name for one in it] == ['letter.txt'])
ask('download_bitstream', lambda: client.download_bitstream(bitstream.uuid).content, lambda it: it == b'from the client')
ask('create_resource_policy', lambda: client.create_resource_policy(
    ResourcePolicy({'name': 'curators', 'action': 'READ', 'policyType': 'TYPE_CUSTOM'}), bitstream.uuid, group=group.uuid),
    lambda it: it.action == 'READ')
ask('get_resource_policies', lambda: list(client.get_resource_policies_iter(bitstream.uuid)),
    lambda it: len(it) >= 1 and all(one.action == 'READ' for one in it))
ask('get_items', client.get_items, lambda it: [one.uuid for one in it] == [item.uuid])

for name, call in {
    'create_community': lambda: client.create_community(None, {'name': 'x', 'metadata': {}}),
    'create_collection': lambda: client.create_collection(item.uuid, {'name': 'x', 'metadata': {}}),
    'create_item_version': lambda: client.create_item_version(item.uuid),
}.items():
    errors.clear()
    try:
        call()
    except Exception as error:  # the client's own, of an answer that is no community
        errors.append(repr(error))
    print(json.dumps({'call': name, 'right': any('404' in one or '405' in one for one in errors),
                      'given': str(errors)[:300]}), flush=True)

ask('delete_item', lambda: client.delete_dso(item), lambda it: it is not None and it.status_code == 204)
ask('delete_user', lambda: client.delete_user(person), lambda it: it is not None and it.status_code == 204)
