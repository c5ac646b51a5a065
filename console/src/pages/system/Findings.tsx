import type { JSX } from 'preact'
import { a, aOf } from '../../i18n/admin.ts'
import { saidIn } from '../../i18n/finding-words.ts'
import { language } from '../../i18n/i18n.ts'
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

const List = ({ findings }: { readonly findings: readonly Finding[] }): JSX.Element | null =>
  findings.length === 0 ? null : (
    <ul class="finding-list">
      {findings.map(finding => (
        <Row key={`${finding.about} ${finding.what}`} of={finding} />
      ))}
    </ul>
  )

/** A finding in the language of the page, or in the service's English where there are no words for it. */
function Row({ of: finding }: { readonly of: Finding }): JSX.Element {
  const said = saidIn(language.value, finding)
  const { what, advice } = said ?? finding
  const spoken = said ? undefined : 'en'
  return (
    <li class={finding.level}>
      <Icon of={icons[finding.level]} />
      <div>
        <p>
          <strong>
            <bdi>{aOf('check', finding.about)}</bdi>
          </strong>{' '}
          <bdi lang={spoken}>{what}</bdi>
        </p>
        {advice && (
          <p class="soft">
            <bdi lang={spoken}>{advice}</bdi>
          </p>
        )}
      </div>
    </li>
  )
}
