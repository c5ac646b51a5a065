import type { Node } from '../language/node.ts'
import { fieldNamed } from './fields.ts'
import { isIn } from './in.ts'
import type { Checked, Scope } from './scope.ts'
import { type ArrayNode, argumentsOf, operatorOf, wrong } from './wrong.ts'

const name = 'latest_report?'

/** What names the report in entities of PuppetDB. */
const hashFields: Readonly<Record<string, string>> = { reports: 'hash', events: 'report' }

const hashField = ({ entity }: Scope): string | undefined => hashFields[entity?.name ?? '']

/** Whether a condition is about `latest_report?`, where that is no field but a shorthand of PuppetDB. */
export const isAboutLatestReport = (node: ArrayNode, scope: Scope): boolean => {
  const [, subject] = node.items
  return (
    subject?.kind === 'text' &&
    subject.text === name &&
    hashField(scope) !== undefined &&
    !fieldNamed(name, scope) &&
    scope.shared.entities.get('nodes')?.fields.some(field => field.name === 'latest_report_hash') === true
  )
}

/** `["=", "latest_report?", true]` asks whether a node has the report as its latest. */
export function aboutLatestReport(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  const [, value, more] = argumentsOf(node)
  if (operatorOf(node) !== '=' || value?.kind !== 'boolean' || more)
    throw wrong(value ?? node, `${name} is compared with true or false: ["=", "${name}", true].`, {
      legal: [true, false],
    })
  const { at } = node
  const list = (...items: readonly Node[]): ArrayNode => ({ kind: 'array', items, at })
  const said = (text: string): Node => ({ kind: 'text', text, at })
  const hashes = list(said('from'), said('nodes'), list(said('extract'), list(said('latest_report_hash'))))
  const condition = list(said('in'), said(hashField(scope) ?? ''), hashes)
  return isIn(condition, negated === value.value, scope)
}
