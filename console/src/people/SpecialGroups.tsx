import type { JSX } from 'preact'
import { a } from '../i18n/admin.ts'
import { formatTime, tOf } from '../i18n/i18n.ts'
import { NameLink } from '../parts/controls.tsx'
import { useLoad } from '../parts/load.ts'
import { Section } from '../parts/Page.tsx'
import { Pending } from '../parts/states.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { groupPath, loadRules, type SpecialRule, type SpecialSession } from './groups.ts'
import './people.css'

/** The rules of the configuration that put a session into a special group. */
export function RulesOfGroup({ group }: { readonly group: string }): JSX.Element {
  const { value, problem, reload } = useLoad(signal => loadRules(signal), [group])
  if (problem || !value) return <Pending problem={problem} retry={reload} lines={2} />
  return (
    <ul>
      {value
        .filter(rule => rule.group.uuid === group)
        .map(rule => (
          <li key={JSON.stringify(rule)}>
            <bdi>{inWords(rule)}</bdi>
          </li>
        ))}
    </ul>
  )
}

type Given = SpecialRule & { readonly sessions: readonly SpecialSession[] }

/** The special groups of a person's sessions, with the rules that give them. */
export function SpecialGroupsOf({ person }: { readonly person: string }): JSX.Element | null {
  const { value, problem, reload } = useLoad(signal => loadRules(signal, person), [person])
  // A service without rules for special groups shows no section.
  if (value?.length === 0) return null
  const given = (value ?? []).filter((rule): rule is Given => (rule.sessions?.length ?? 0) > 0)
  const others = (value ?? []).length - given.length
  return (
    <Section title={a('special.title')}>
      <p class="soft prose">{a('special.of-person.help')}</p>
      {problem || !value ? (
        <Pending problem={problem} retry={reload} lines={3} />
      ) : (
        <>
          {given.length > 0 && (
            <Table<Given>
              whole
              label={a('special.title')}
              rows={given}
              columns={columns()}
              idOf={({ sessions: _, ...rule }) => JSON.stringify(rule)}
            />
          )}
          {others > 0 && (
            <p class="soft small">
              {given.length > 0 ? a('special.others', { n: others }) : a('special.none', { n: others })}
            </p>
          )}
        </>
      )}
    </Section>
  )
}

const columns = (): readonly Column<Given>[] => [
  {
    id: 'group',
    label: a('group.name'),
    cell: ({ group }) => <NameLink to={groupPath(group.uuid)} name={group.name} />,
  },
  { id: 'rule', label: a('special.rule'), wrap: true, cell: rule => <bdi>{inWords(rule)}</bdi> },
  {
    id: 'sessions',
    label: a('special.sessions'),
    wrap: true,
    cell: ({ sessions }) => (
      <ul class="sessions-of">
        {sessions.map(one => (
          <li key={one.begun}>
            {one.gives === 'perhaps' && <span class="tag warn">{a('special.perhaps')}</span>}{' '}
            {a(one.lastNetwork === null ? 'special.session' : 'special.session.from', {
              method: tOf('method', one.method),
              time: formatTime(one.begun),
              network: one.lastNetwork ?? '',
            })}
          </li>
        ))}
      </ul>
    ),
  },
]

function inWords(rule: SpecialRule): string {
  if (rule.how === 'method') return a('special.by-method', { method: tOf('method', rule.method) })
  if (rule.how === 'attribute') {
    const { provider, attribute } = rule
    return 'value' in rule
      ? a('special.by-value', { provider, attribute, value: rule.value })
      : a('special.by-pattern', { provider, attribute, pattern: rule.pattern })
  }
  const without = rule.ranges.filter(range => range.startsWith('!')).map(range => range.slice(1))
  const ranges = rule.ranges.filter(range => !range.startsWith('!')).join(', ')
  return without.length === 0
    ? a('special.by-address', { ranges })
    : a('special.by-address.without', { ranges, without: without.join(', ') })
}
