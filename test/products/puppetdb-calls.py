"""Makes every call that pypuppetdb has, and prints what comes of it: one line of JSON each."""

import json
import sys

from pypuppetdb import connect
from pypuppetdb.QueryBuilder import (
    AndOperator, EqualsOperator, ExtractOperator, FromOperator,
    FunctionOperator, GreaterEqualOperator, GreaterOperator, InOperator,
    LessEqualOperator, LessOperator, NotOperator, NullOperator, OrOperator,
    RegexOperator, SubqueryOperator)

host, port = sys.argv[1], int(sys.argv[2])
db = connect(host=host, port=port, timeout=20)
node = 'node-1.example.edu'


def ask(name, call, expected):
    """Prints the name, whether the call gave what was expected, and what it gave."""
    try:
        given = call()
        if not isinstance(given, (str, int, dict, list)):
            given = list(given)
        what = len(given) if isinstance(given, list) else given
        right = what == expected if not callable(expected) else expected(given)
        print(json.dumps({'call': name, 'right': bool(right), 'given': str(what)[:200]}), flush=True)
    except Exception as error:  # every failure is a line
        print(json.dumps({'call': name, 'right': False, 'given': repr(error)[:300]}), flush=True)


def both(operator, *queries):
    for query in queries:
        operator.add(query)
    return operator


def extract(fields, query=None, groups=()):
    result = ExtractOperator()
    for field in fields:
        result.add_field(field)
    if query is not None:
        result.add_query(query)
    for group in groups:
        result.add_group_by(group)
    return result


debian = EqualsOperator('value', 'Linux')

# The service.
ask('current_version', db.current_version, lambda text: text.split('.')[0] >= '5')
# Its own function reads an attribute that it doesn't have.
ask('server_time', lambda: db._query('server-time')['server_time'], lambda text: text.endswith('Z'))
ask('status', db.status, lambda found: found['state'] == 'running')
ask('metric, list', db.metric, lambda found: 'puppetlabs.puppetdb.population' in found)
ask('metric', lambda: db.metric('puppetlabs.puppetdb.population:name=num-nodes'), lambda found: found['Value'] == 6)
ask('metric, resources', lambda: db.metric('puppetlabs.puppetdb.population:name=num-resources'), lambda found: found['Value'] == 18)
ask('metric, average', lambda: db.metric('puppetlabs.puppetdb.population:name=avg-resources-per-node'), lambda found: found['Value'] == 3)

# Lists.
ask('nodes', db.nodes, 6)
ask('nodes, with status', lambda: db.nodes(with_status=True, unreported=10 ** 6), lambda found: [one.status for one in found][1] == 'failed')
ask('nodes, without events', lambda: db.nodes(with_status=True, with_event_numbers=False), 6)
ask('node', lambda: db.node(node).name, node)
ask('facts', db.facts, 36)
ask('facts, of a name', lambda: db.facts('kernel'), 6)
ask('facts, of a name and value', lambda: db.facts('kernel', 'Linux'), 5)
ask('facts, of a number', lambda: db.facts('processorcount', '2'), 2)
ask('fact_names', db.fact_names, lambda found: found == sorted(found) and 'kernel' in found)
ask('factsets', db.factsets, 6)
ask('factsets, of a node', lambda: db.factsets(path=node), lambda found: found['certname'] == node)
ask('fact_contents', db.fact_contents, 36)
ask('fact_paths', db.fact_paths, 6)
ask('inventory', db.inventory, 6)
ask('environments', db.environments, 2)
ask('environments, one', lambda: db.environments(path='testing'), lambda found: found['name'] == 'testing')
ask('resources', db.resources, 18)
ask('resources, of a type', lambda: db.resources('package'), 6)
ask('resources, of a title', lambda: db.resources('File', '/etc/motd'), 6)
ask('catalogs', db.catalogs, 6)
ask('catalog', lambda: db.catalog(node).node, node)
ask('catalog, its resources', lambda: list(db.catalog(node).get_resources()), 3)
ask('reports', db.reports, 5)
ask('events', db.events, 10)
ask('event_counts, by node', lambda: db.event_counts('certname'), 5)
ask('event_counts, by class', lambda: db.event_counts('containing_class'), 2)
ask('event_counts, by resource', lambda: db.event_counts('resource', count_by='certname'), 2)
ask('event_counts, filtered', lambda: db.event_counts('certname', count_filter='[">", "failures", 0]'), 1)
ask('aggregate_event_counts', lambda: db.aggregate_event_counts('resource'), lambda found: found[0]['total'] == 2)

# What belongs to a node.
ask('node, facts', lambda: db.node(node).facts(), 6)
ask('node, fact', lambda: db.node(node).fact('kernel').value, 'Linux')
ask('node, resources', lambda: db.node(node).resources(), 3)
ask('node, resources of a type', lambda: db.node(node).resources('Package'), 1)
ask('node, resource', lambda: db.node(node).resource('File', '/etc/motd').name, '/etc/motd')
ask('node, reports', lambda: db.node(node).reports(), 1)
ask('report, events', lambda: next(db.node(node).reports()).events(), 2)

# Pages.
ask('limit and offset', lambda: db.facts(limit=10, offset=30), 6)
ask('order_by', lambda: db.nodes(order_by='[{"field":"certname","order":"desc"}]', limit=1), lambda found: found[0].name == 'node-5.example.edu')
ask('include_total', lambda: (list(db.nodes(limit=1, include_total=True)), db.total)[1], 6)

# Queries.
ask('equals', lambda: db.facts(query=both(AndOperator(), EqualsOperator('name', 'kernel'), debian)), 5)
ask('regex', lambda: db.nodes(query=RegexOperator('certname', r'node-[12]\.')), 2)
ask('comparisons', lambda: db.resources(query=both(AndOperator(), GreaterOperator('line', 11), LessEqualOperator('line', 13))), 6)
ask('or and not', lambda: db.nodes(query=both(OrOperator(), EqualsOperator('certname', node), both(NotOperator(), LessOperator('report_timestamp', '2026-11-05T00:00:00Z')))), 2)
ask('dates', lambda: db.nodes(query=GreaterEqualOperator('report_timestamp', '2026-11-03')), 3)
ask('null', lambda: db.nodes(query=NullOperator('report_timestamp', True)), 1)
ask('tags and parameters', lambda: db.resources(query=both(AndOperator(), EqualsOperator('tag', 'Package'), EqualsOperator(['parameter', 'ensure'], 'latest'))), 3)
ask('fact of a node', lambda: db.nodes(query=EqualsOperator(['fact', 'kernel'], 'Darwin')), 1)
ask('inventory, dotted', lambda: db.inventory(query=EqualsOperator('facts.os.family', 'Debian')), 3)
ask('latest_report?', lambda: db.events(query=EqualsOperator('latest_report?', True)), 10)


def in_array():
    operator = InOperator('certname')
    operator.add_array([node, 'nobody'])
    return db.nodes(query=operator)


def in_subquery():
    select = SubqueryOperator('facts')
    select.add_query(both(AndOperator(), EqualsOperator('name', 'kernel'), EqualsOperator('value', 'Darwin')))
    operator = InOperator('certname')
    operator.add_query(extract(['certname'], select))
    return db.nodes(query=operator)


def from_entity():
    operator = FromOperator('nodes')
    operator.add_query(EqualsOperator('facts_environment', 'testing'))
    operator.add_order_by([['certname', 'desc']])
    operator.add_limit(1)
    return db._query('pql', query=str(operator))


ask('in, array', in_array, 1)
ask('in, subquery', in_subquery, 1)
ask('from', from_entity, lambda found: [one['certname'] for one in found] == ['node-4.example.edu'])
ask('extract', lambda: db._query('nodes', query=extract(['certname'], EqualsOperator('facts_environment', 'testing'))), lambda found: found[0] == {'certname': node})
ask('group_by', lambda: db._query('nodes', query=extract(['facts_environment', FunctionOperator('count')], None, ['facts_environment'])), lambda found: {'facts_environment': 'production', 'count': 4} in found)
ask('pql', lambda: db._query('pql', query='nodes[certname] { facts { name = "kernel" and value = "Darwin" } }'), 1)
ask('post', lambda: db._query('nodes', query=EqualsOperator('certname', node), request_method='POST'), 1)
ask('post, pql', lambda: db._query('pql', query='nodes[count()] { }', request_method='POST'), lambda found: found == [{'count': 6}])
