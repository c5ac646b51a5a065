import type { ReadRule } from '../../../src/model/entities.ts'
import type { Service } from '../service/service.ts'

/**
 * Data of a few nodes in PuppetDB's entities and members
 * (https://www.puppet.com/docs/puppetdb/8/api/query/v4/entities), as an export of it would have them.
 */
const systems = ['Debian', 'RedHat', 'Debian', 'Darwin', 'Debian', 'RedHat']
const names = systems.map((_, n) => `node-${n}.example.edu`)
const time = (n: number) => `2026-11-0${1 + n}T10:00:00.000Z`
const environmentOf = (n: number) => (n % 3 === 1 ? 'testing' : 'production')
const hashOf = (n: number) => `${n}`.repeat(40)
const statusOf = (n: number) => (n === 1 ? 'failed' : n === 4 ? null : 'changed')

const structured = (n: number) => ({
  kernel: systems[n] === 'Darwin' ? 'Darwin' : 'Linux',
  processorcount: 2 ** (n % 4),
  is_virtual: n % 2 === 0,
  os: { family: systems[n], release: { major: `${10 + n}` } },
  mountpoints: { '/': { size: '10 GiB' } },
  interfaces: ['lo', 'eth0'].slice(0, 1 + (n % 2)),
})

const nodes = names.map((certname, n) => ({
  certname,
  deactivated: null,
  expired: null,
  catalog_timestamp: time(n),
  facts_timestamp: time(n),
  report_timestamp: statusOf(n) === null ? null : time(n),
  catalog_environment: environmentOf(n),
  facts_environment: environmentOf(n),
  report_environment: environmentOf(n),
  latest_report_status: statusOf(n),
  latest_report_noop: false,
  latest_report_noop_pending: false,
  latest_report_hash: statusOf(n) === null ? null : hashOf(n),
  cached_catalog_status: 'not_used',
}))

const facts = names.flatMap((certname, n) =>
  Object.entries(structured(n)).map(([name, value]) => ({
    certname,
    environment: environmentOf(n),
    name,
    value,
  })),
)

const resourceOf = (certname: string, n: number, type: string, title: string, parameters: object) => ({
  certname,
  resource: `${n}-${type}-${title}`,
  type,
  title,
  tags: [type.toLowerCase(), 'site'],
  exported: false,
  file: '/etc/puppetlabs/code/site.pp',
  line: 10 + n,
  environment: environmentOf(n),
  parameters,
})
const resources = names.flatMap((certname, n) => [
  resourceOf(certname, n, 'File', '/etc/motd', { ensure: 'file', mode: '0644' }),
  resourceOf(certname, n, 'Package', 'openssl', { ensure: n % 2 === 0 ? 'installed' : 'latest' }),
  resourceOf(certname, n, 'Class', 'Motd', {}),
])

const edges = names.map(certname => ({
  certname,
  relationship: 'contains',
  source_type: 'Class',
  source_title: 'Motd',
  target_type: 'File',
  target_title: '/etc/motd',
}))

const paths = [...new Set(facts.map(({ name }) => name))].toSorted()

/** Records by entity, with the fields of its key. */
export const puppetEntities: Readonly<
  Record<string, readonly [key: readonly string[], records: readonly object[]]>
> = {
  nodes: [['certname'], nodes],
  facts: [['certname', 'name'], facts],
  factsets: [
    ['certname'],
    names.map((certname, n) => ({
      certname,
      environment: environmentOf(n),
      timestamp: time(n),
      producer: 'puppet.example.edu',
      hash: hashOf(n),
      facts: { href: `/pdb/query/v4/factsets/${certname}/facts`, data: null },
    })),
  ],
  'fact-contents': [
    ['certname', 'path'],
    facts.map(({ certname, environment, name, value }) => ({
      certname,
      environment,
      path: name,
      name,
      value,
    })),
  ],
  'fact-paths': [['path'], paths.map(path => ({ path, type: 'string' }))],
  inventory: [
    ['certname'],
    names.map((certname, n) => ({
      certname,
      timestamp: time(n),
      environment: environmentOf(n),
      facts: structured(n),
      trusted: { certname, authenticated: 'remote' },
    })),
  ],
  resources: [['certname', 'type', 'title'], resources],
  edges: [['certname', 'source_type', 'source_title', 'target_type', 'target_title'], edges],
  catalogs: [
    ['certname'],
    names.map((certname, n) => ({
      certname,
      version: `${1_700_000_000 + n}`,
      environment: environmentOf(n),
      transaction_uuid: `00000000-0000-4000-8000-00000000000${n}`,
      catalog_uuid: `00000000-0000-4000-9000-00000000000${n}`,
      code_id: null,
      producer_timestamp: time(n),
      hash: hashOf(n),
      edges: { href: '', data: edges.filter(edge => edge.certname === certname) },
      resources: { href: '', data: resources.filter(one => one.certname === certname) },
    })),
  ],
  environments: [['name'], [{ name: 'production' }, { name: 'testing' }]],
  reports: [
    ['hash'],
    nodes.flatMap(({ certname, latest_report_hash, latest_report_status }, n) =>
      latest_report_hash === null
        ? []
        : [
            {
              hash: latest_report_hash,
              certname,
              environment: environmentOf(n),
              status: latest_report_status,
              noop: false,
              noop_pending: false,
              puppet_version: '8.10.0',
              report_format: 12,
              configuration_version: `${1_700_000_000 + n}`,
              start_time: time(n),
              end_time: time(n),
              receive_time: time(n),
              producer_timestamp: time(n),
              transaction_uuid: null,
              catalog_uuid: null,
              code_id: null,
              cached_catalog_status: 'not_used',
              metrics: { href: '', data: [{ category: 'resources', name: 'total', value: 3 }] },
              logs: { href: '', data: [] },
            },
          ],
    ),
  ],
  events: [
    ['certname', 'report', 'resource_type', 'resource_title', 'property'],
    nodes.flatMap(({ certname, latest_report_hash }, n) =>
      latest_report_hash === null
        ? []
        : ['/etc/motd', 'openssl'].map((resource_title, at) => ({
            certname,
            report: latest_report_hash,
            status: n === 1 && at === 0 ? 'failure' : 'success',
            timestamp: time(n),
            resource_type: at === 0 ? 'File' : 'Package',
            resource_title,
            property: 'ensure',
            old_value: 'absent',
            new_value: 'present',
            message: 'created',
            containing_class: at === 0 ? 'Motd' : null,
            containment_path: ['Stage[main]', 'Motd'],
            file: '/etc/puppetlabs/code/site.pp',
            line: 10,
            environment: environmentOf(n),
          })),
    ),
  ],
}

/** Adds these entities, by default readable for everyone. */
export async function addPuppetEntities(service: Service, read: ReadRule = 'anonymous'): Promise<void> {
  for (const [entity, [key, records]] of Object.entries(puppetEntities))
    await service.addRecords(entity, [...key], records, read)
}
