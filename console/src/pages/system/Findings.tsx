import type { JSX } from 'preact'
import { a, aOf, findingOf } from '../../i18n/admin.ts'
import { CircleAlert, CircleCheck, Info, TriangleAlert } from '../../icons.ts'
import { Icon } from '../../parts/Icon.tsx'
import type { Finding, Report } from './system.ts'

const icons = { error: CircleAlert, warning: TriangleAlert, note: Info, ok: CircleCheck }
const levels = ['error', 'warning', 'note', 'ok'] as const

/** The findings of a report, most urgent first. */
export function Findings({ report: { findings } }: { readonly report: Report }): JSX.Element {
  const of = (level: Finding['level']) => findings.filter(one => one.level === level)
  return (
    <div class="findings">
      <p class="summary" role="status">
        {levels.map(level => {
          const n = of(level).length
          return n === 0 ? null : (
            <span key={level} class={`finding-count ${level}`}>
              <Icon of={icons[level]} />
              {a(`finding.${level}`, { n })}
            </span>
          )
        })}
      </p>
      {levels.slice(0, 3).map(level => (
        <List key={level} findings={of(level)} />
      ))}
      {of('ok').length > 0 && (
        <details>
          <summary>{a('finding.show-ok', { n: of('ok').length })}</summary>
          <List findings={of('ok')} />
        </details>
      )}
    </div>
  )
}

/** A sentence of the service in the language of the page, or in English where there is no other. */
function Sentence({ of: text }: { readonly of: string }): JSX.Element {
  const said = findingOf(text)
  return said === undefined ? <bdi lang="en">{text}</bdi> : <bdi>{said}</bdi>
}

const List = ({ findings }: { readonly findings: readonly Finding[] }): JSX.Element | null =>
  findings.length === 0 ? null : (
    <ul class="finding-list">
      {findings.map(({ level, about, what, advice }) => (
        <li key={`${about} ${what}`} class={level}>
          <Icon of={icons[level]} />
          <div>
            <p>
              <strong>
                <bdi>{aOf('check', about)}</bdi>
              </strong>{' '}
              <Sentence of={what} />
            </p>
            {advice && (
              <p class="soft">
                <Sentence of={advice} />
              </p>
            )}
          </div>
        </li>
      ))}
    </ul>
  )
