"""Calls every function of DSpace's Python client, and prints what comes of each: one line of JSON."""

import json
import logging
import sys
import tempfile

from dspace_rest_client.client import DSpaceClient
from dspace_rest_client.models import Bitstream, Group, Item, ResourcePolicy, User

errors = []


class Keep(logging.Handler):
    def emit(self, record):
        errors.append(record.getMessage())


logging.getLogger().addHandler(Keep())

endpoint, user, password, token = sys.argv[1:5]
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


def refuse(name, call, *said):
    """Prints whether the call failed, and what the client logged says why."""
    errors.clear()
    given = None
    try:
        given = call()
    except Exception as error:  # the client's own, of an answer that has no such object
        errors.append(repr(error))
    text = f'{given} {errors}'
    right = bool(errors) and all(one in text for one in said)
    print(json.dumps({'call': name, 'right': right, 'given': text[:400]}), flush=True)


def metadata(**fields):
    return {name.replace('_', '.'): [{'value': value, 'language': 'en', 'authority': None, 'confidence': -1}]
            for name, value in fields.items()}


PatchOperation = DSpaceClient.PatchOperation
ask('authenticate', client.authenticate, lambda it: it)
ask('refresh_token', lambda: client.refresh_token() or errors, lambda it: it == [])
ask('get_short_lived_token', client.get_short_lived_token, lambda it: it.count('.') == 2)
other = DSpaceClient(api_endpoint=endpoint, username=user, password='wrong')
refuse('authenticate with a wrong password', lambda: other.authenticate() or errors, 'invalid credentials')
reader = DSpaceClient(api_endpoint=endpoint)
ask('authenticate_with_token', lambda: reader.authenticate_with_token(token=f'Bearer {token}'), lambda it: it)
ask('get_users with a token', reader.get_users, lambda it: [one.email for one in it] == [user])

# People and groups
person = ask('create_user', lambda: client.create_user({
    'name': 'new@example.org', 'email': 'new@example.org', 'canLogIn': True, 'requireCertificate': False,
    'metadata': {'eperson.firstname': [{'value': 'Ada'}], 'eperson.lastname': [{'value': 'Lovelace'}]}}),
    lambda it: isinstance(it, User) and it.uuid and it.email == 'new@example.org')
other_person = ask('create_user of an object', lambda: client.create_user(User({
    'name': 'bob@example.org', 'email': 'bob@example.org', 'canLogIn': True, 'type': 'eperson',
    'metadata': metadata(eperson_firstname='Bob')}), embeds=['groups']),
    lambda it: it.uuid and it.metadata['eperson.firstname'][0]['value'] == 'Bob')
refuse('create_user again', lambda: client.create_user({'email': 'new@example.org', 'metadata': {}}), '422')
ask('get_users', client.get_users, lambda it: 'new@example.org' in [one.email for one in it])
ask('get_users, a page', lambda: client.get_users(page=1, size=2, sort='email,ASC', embeds=['groups']),
    lambda it: len(it) == 1)
client.ITER_PAGE_SIZE = 2
ask('get_users_iter', lambda: list(client.get_users_iter()), lambda it: len(it) == 3)
ask('add_metadata to a user', lambda: client.add_metadata(person, 'eperson.phone', '+49 30 1234'),
    lambda it: it.metadata['eperson.phone'][0]['value'] == '+49 30 1234')
ask('api_patch of a user', lambda: client.api_patch(
    person.links['self']['href'], PatchOperation.REPLACE, '/canLogIn', False).json()['canLogIn'], lambda it: it is False)
group = ask('create_group', lambda: client.create_group({'name': 'Curators', 'metadata': {}}),
            lambda it: isinstance(it, Group) and it.uuid)
inner = ask('create_group of an object', lambda: client.create_group(Group({
    'name': 'Mapmakers', 'type': 'group', 'metadata': metadata(dc_description='Those who draw')})),
    lambda it: it.uuid and it.name == 'Mapmakers')
ask('search_groups_by_metadata', lambda: list(client.search_groups_by_metadata_iter('curat')),
    lambda it: [one.name for one in it] == ['Curators'])
ask('search_groups_by_metadata by uuid', lambda: list(client.search_groups_by_metadata_iter(group.uuid)),
    lambda it: [one.name for one in it] == ['Curators'])
ask('search_groups_by_metadata for all', lambda: list(client.search_groups_by_metadata_iter(None, embeds=['epersons'])),
    lambda it: {'Administrator', 'Curators', 'Mapmakers'} <= {one.name for one in it})
ask('add_metadata to a group', lambda: client.add_metadata(group, 'dc.description', 'Those who keep'),
    lambda it: it.metadata['dc.description'][0]['value'] == 'Those who keep')
ask('add a member', lambda: client.api_post_uri(
    f'{endpoint}/eperson/groups/{group.uuid}/epersons', None, f'{endpoint}/eperson/epersons/{person.uuid}').status_code,
    lambda it: it == 204)
ask('add a subgroup', lambda: client.api_post_uri(
    f'{endpoint}/eperson/groups/{group.uuid}/subgroups', None, f'{endpoint}/eperson/groups/{inner.uuid}').status_code,
    lambda it: it == 204)
ask('fetch_resource', lambda: client.fetch_resource(f'{endpoint}/eperson/groups/{group.uuid}/epersons'),
    lambda it: [one['email'] for one in it['_embedded']['epersons']] == ['new@example.org'])
ask('api_delete of a member', lambda: client.api_delete(
    f'{endpoint}/eperson/groups/{group.uuid}/epersons/{person.uuid}', None).status_code, lambda it: it == 204)

# Items and metadata
item = ask('create_item', lambda: client.create_item('', Item({
    'name': 'Letters', 'metadata': metadata(dc_title='Letters', dc_contributor_author='Doe, Ruth'),
    'inArchive': True, 'discoverable': True, 'withdrawn': False, 'type': 'item'})),
    lambda it: it.uuid and it.name == 'Letters')
others = [ask('create_item', lambda: client.create_item('', Item({
    'metadata': metadata(dc_title=f'Map {n}'), 'type': 'item'}), embeds=['bundles']), lambda it: it.uuid) for n in (1, 2)]
ask('get_item', lambda: client.get_item(item.uuid).json()['name'], lambda it: it == 'Letters')
# What should be embedded is linked.
ask('get_item with embeds', lambda: client.get_item(item.uuid, embeds=['bundles', 'thumbnail']).json(),
    lambda it: it['uuid'] == item.uuid and it['_links']['bundles']['href'])
ask('get_dso', lambda: client.get_dso(f'{endpoint}/core/items', item.uuid).json()['uuid'], lambda it: it == item.uuid)
ask('get_items', client.get_items, lambda it: item.uuid in [one.uuid for one in it])
ask('get_items_iter', lambda: list(client.get_items_iter()), lambda it: len({one.uuid for one in it}) == 3)
ask('resolve_identifier_to_dso', lambda: client.resolve_identifier_to_dso(item.uuid), lambda it: it.uuid == item.uuid)
ask('add_metadata', lambda: client.add_metadata(item, 'dc.subject', 'coast', language='en'),
    lambda it: it.metadata['dc.subject'][0]['value'] == 'coast')
ask('add_metadata at a place', lambda: client.add_metadata(item, 'dc.subject', 'sea', place='0', embeds=['bundles']),
    lambda it: [one['value'] for one in it.metadata['dc.subject']] == ['sea', 'coast'])
ask('add_metadata at the end', lambda: client.add_metadata(item, 'dc.subject', 'ship', place='-'),
    lambda it: [one['value'] for one in it.metadata['dc.subject']] == ['sea', 'coast', 'ship'])
url = item.links['self']['href']
subjects = lambda answer: [one['value'] for one in answer.json()['metadata'].get('dc.subject', [])]
ask('api_patch, move', lambda: subjects(client.api_patch(
    url, PatchOperation.MOVE, '/metadata/dc.subject/0', '/metadata/dc.subject/2')), lambda it: it == ['ship', 'sea', 'coast'])
ask('api_patch, replace', lambda: subjects(client.api_patch(
    url, PatchOperation.REPLACE, '/metadata/dc.subject/0/value', 'boat')), lambda it: it == ['boat', 'sea', 'coast'])
ask('api_patch, remove', lambda: subjects(client.api_patch(
    url, PatchOperation.REMOVE, '/metadata/dc.subject/1', None)), lambda it: it == ['boat', 'coast'])
for path in ('/withdrawn', '/discoverable'):
    for value in (True, False, True) if path == '/discoverable' else (True, False):
        ask(f'api_patch, {path} {value}', lambda: client.api_patch(url, PatchOperation.REPLACE, path, value).json()[path[1:]],
            lambda it: it is value)
item.metadata['dc.title'][0]['value'] = 'Letters from the coast'
ask('update_item', lambda: client.update_item(item), lambda it: it.name == 'Letters from the coast')
ask('update_dso', lambda: client.update_dso(item, embeds=['bundles']), lambda it: it.name == 'Letters from the coast')

# Bundles and bitstreams
bundle = ask('create_bundle', lambda: client.create_bundle(item, 'ORIGINAL'), lambda it: it.uuid and it.name == 'ORIGINAL')
license = ask('create_bundle', lambda: client.create_bundle(item, 'LICENSE', embeds=['bitstreams']), lambda it: it.uuid)
ask('create_bundle', lambda: client.create_bundle(item, 'TEXT'), lambda it: it.uuid)
ask('get_bundles', lambda: client.get_bundles(item), lambda it: [one.name for one in it] == ['ORIGINAL', 'LICENSE', 'TEXT'])
ask('get_bundles by uuid', lambda: client.get_bundles(uuid=bundle.uuid, embeds=['item']),
    lambda it: [one.name for one in it] == ['ORIGINAL'])
ask('get_bundles_iter', lambda: list(client.get_bundles_iter(item)), lambda it: len(it) == 3)
ask('api_patch of metadata of a bundle', lambda: client.api_patch(
    bundle.links['self']['href'], PatchOperation.ADD, '/metadata/dc.description/-', {'value': 'As they are'}).json(),
    lambda it: it['status'] == 422 and 'only files can be moved' in it['message'])
with tempfile.NamedTemporaryFile('w', suffix='.txt') as file:
    file.write('from the client')
    file.flush()
    bitstream, *more = [ask('create_bitstream', lambda: client.create_bitstream(
        bundle, f'letter{n}.txt', file.name, 'text/plain', metadata(dc_description='A letter') if n == '' else None),
        lambda it: it.uuid and it.name == f'letter{n}.txt' and it.sizeBytes == 15) for n in ('', 2, 3)]
ask('get_bitstreams', lambda: client.get_bitstreams(bundle=bundle),
    lambda it: [one.name for one in it] == ['letter.txt', 'letter2.txt', 'letter3.txt'])
ask('get_bitstreams, a page', lambda: client.get_bitstreams(bundle=bundle, page=1, size=2, embeds=['format']),
    lambda it: [one.name for one in it] == ['letter3.txt'])
ask('get_bitstreams_iter', lambda: list(client.get_bitstreams_iter(bundle)), lambda it: len({one.uuid for one in it}) == 3)
ask('add_metadata to a bitstream', lambda: client.add_metadata(more[0], 'dc.description', 'A map'),
    lambda it: isinstance(it, Bitstream) and it.metadata['dc.description'][0]['value'] == 'A map')
ask('api_patch of a bitstream', lambda: client.api_patch(more[0].links['self']['href'], PatchOperation.REPLACE,
    '/metadata/dc.title/0/value', 'map.txt').json()['name'], lambda it: it == 'map.txt')
ask('download_bitstream', lambda: client.download_bitstream(bitstream.uuid).content, lambda it: it == b'from the client')

# Policies
policy = ask('create_resource_policy', lambda: client.create_resource_policy(
    ResourcePolicy({'name': 'curators', 'action': 'READ', 'policyType': 'TYPE_CUSTOM'}), bitstream.uuid, group=group.uuid),
    lambda it: it.action == 'READ')
ask('create_resource_policy, with days', lambda: client.create_resource_policy(ResourcePolicy({
    'name': 'later', 'action': 'READ', 'policyType': 'TYPE_CUSTOM', 'startDate': '2999-01-01', 'endDate': '2999-12-31'}),
    item.uuid, group=inner.uuid), lambda it: it.startDate == '2999-01-01' and it.endDate == '2999-12-31')
ask('create_resource_policy for WRITE', lambda: client.create_resource_policy(
    ResourcePolicy({'action': 'WRITE', 'policyType': 'TYPE_CUSTOM'}), item.uuid, group=group.uuid),
    lambda it: it.action == 'WRITE')
ask('create_resource_policy for a single eperson', lambda: client.create_resource_policy(
    ResourcePolicy({'action': 'READ'}), item.uuid, eperson=person.uuid), lambda it: it.action == 'READ')
ask('get_resource_policies', lambda: list(client.get_resource_policies_iter(bitstream.uuid, embeds=['group'])),
    lambda it: len(it) >= 1 and all(one.action == 'READ' for one in it))
ask('get_resource_policies by action', lambda: list(client.get_resource_policies_iter(item.uuid, action='WRITE')),
    lambda it: [one.action for one in it] == ['WRITE'])
ask('api_patch of a policy', lambda: client.api_patch(
    policy.links['self']['href'], PatchOperation.ADD, '/endDate', '2999-12-31').json()['endDate'], lambda it: it == '2999-12-31')
ask('delete_dso of a policy', lambda: client.delete_dso(url=policy.links['self']['href']),
    lambda it: it is not None and it.status_code == 204)

# What Carrel doesn't have: lists are empty, and the rest says so.
for name, call in {
    'get_communities': client.get_communities,
    'get_communities at the top': lambda: client.get_communities(top=True),
    'get_communities_iter': lambda: list(client.get_communities_iter()),
    'get_communities_iter at the top': lambda: list(client.get_communities_iter(top=True)),
    'get_collections': client.get_collections,
    'get_collections_iter': lambda: list(client.get_collections_iter()),
    'search_objects': lambda: client.search_objects(query='letters'),
    'search_objects_iter': lambda: list(client.search_objects_iter(query='letters', dso_type='item')),
}.items():
    ask(name, lambda: (call(), list(errors)), lambda it: it == ([], []))
for name, call in {
    'create_community': lambda: client.create_community(None, {'name': 'x', 'metadata': {}}),
    'create_collection': lambda: client.create_collection(item.uuid, {'name': 'x', 'metadata': {}}),
    'create_item_version': lambda: client.create_item_version(item.uuid),
}.items():
    refuse(name, call, '404', 'Carrel')
ask('start_workflow', lambda: client.start_workflow(f'{endpoint}/submission/workspaceitems/1'),
    lambda it: it['status'] == 404 and 'Carrel' in it['message'])
for name, url in {
    'get_workspace_item': f'{endpoint}/submission/workspaceitems/1',
    'get_workspace_item of an item': f'{endpoint}/submission/workspaceitems/search/item?uuid={item.uuid}',
}.items():
    ask(name, lambda: client.api_get(url).json(), lambda it: it['status'] == 404 and 'Carrel' in it['message'])

# Deletion
refuse('delete_dso of a group that a policy names', lambda: client.delete_dso(url=inner.links['self']['href']),
    '422', 'can be read by it')
for name, one in {'bitstream': more[0], 'bundle': license}.items():
    ask(f'delete_dso of a {name}', lambda: client.delete_dso(url=one.links['self']['href']),
        lambda it: it is not None and it.status_code == 204)
for one in (item, *others):
    ask('delete_dso of an item', lambda: client.delete_dso(one), lambda it: it is not None and it.status_code == 204)
for one in (inner, group):
    ask('delete_dso of a group', lambda: client.delete_dso(url=one.links['self']['href']),
        lambda it: it is not None and it.status_code == 204)
ask('get_item that is gone', lambda: client.get_item(item.uuid).status_code, lambda it: it == 404)
ask('delete_user', lambda: client.delete_user(person), lambda it: it is not None and it.status_code == 204)
ask('delete_user', lambda: client.delete_user(other_person), lambda it: it is not None and it.status_code == 204)
refuse('delete_user again', lambda: client.delete_user(person), '404')
