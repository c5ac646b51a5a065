import type { Service } from '../service/service.ts'

/** A small inventory in the entities and fields that PuppetDB's clients know. */
export const nodes = [
  { certname: 'a.example.edu', environment: 'production', report_timestamp: '2026-11-01T10:00:00Z' },
  { certname: 'b.example.edu', environment: 'testing', report_timestamp: '2026-11-02T10:00:00.5Z' },
  { certname: 'c.example.edu', environment: 'production', report_timestamp: null },
]

export const facts = [
  { certname: 'a.example.edu', name: 'kernel', value: 'Linux', environment: 'production' },
  { certname: 'a.example.edu', name: 'cores', value: 4, environment: 'production' },
  {
    certname: 'a.example.edu',
    name: 'os',
    value: { family: 'Debian', names: ['a', 'b'] },
    environment: 'production',
  },
  { certname: 'b.example.edu', name: 'kernel', value: 'Linux', environment: 'testing' },
  { certname: 'b.example.edu', name: 'cores', value: 16, environment: 'testing' },
  { certname: 'b.example.edu', name: 'virtual', value: true, environment: 'testing' },
  { certname: 'c.example.edu', name: 'kernel', value: 'Darwin', environment: 'production' },
  { certname: 'c.example.edu', name: 'cores', value: '4', environment: 'production' },
]

export const resources = [
  {
    certname: 'a.example.edu',
    type: 'File',
    title: '/etc/motd',
    tags: ['file', 'motd'],
    parameters: { mode: '0644' },
  },
  {
    certname: 'a.example.edu',
    type: 'Package',
    title: 'vim',
    tags: ['package'],
    parameters: { ensure: 'present' },
  },
  {
    certname: 'b.example.edu',
    type: 'Package',
    title: 'vim',
    tags: ['package'],
    parameters: { ensure: 'absent' },
  },
]

const event = (
  certname: string,
  status: string,
  title: string,
  containing_class: string | null,
  report: string,
) => ({ certname, status, resource_type: 'Package', resource_title: title, containing_class, report })

export const events = [
  event('a.example.edu', 'success', 'vim', 'Editors', 'r1'),
  event('a.example.edu', 'failure', 'vim', 'Editors', 'r2'),
  event('b.example.edu', 'success', 'vim', 'Editors', 'r3'),
  event('b.example.edu', 'noop', 'nano', null, 'r3'),
  event('c.example.edu', 'skipped', 'nano', null, 'r4'),
]

/** Adds the inventory, readable for everyone. */
export async function addInventory(service: Service): Promise<void> {
  await service.addRecords('nodes', 'certname', nodes)
  await service.addRecords('facts', ['certname', 'name'], facts)
  await service.addRecords('resources', ['certname', 'type', 'title'], resources)
  await service.addRecords('events', ['certname', 'report', 'resource_type', 'resource_title'], events)
}
