import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Entity, entities, keyOf, keyPath, labelIn, pathOf, recordPath, writes } from '../../entities.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { ChartColumn, Play, Table2 } from '../../icons.ts'
import { ownEntities } from '../../in-order.ts'
import { Form, LinkButton, Submit } from '../../parts/controls.tsx'
import { DownloadMenu } from '../../parts/DownloadMenu.tsx'
import { useDraft } from '../../parts/draft.ts'
import { useLoad } from '../../parts/load.ts'
import { Page, Section } from '../../parts/Page.tsx'
import { AddressPager } from '../../parts/Pager.tsx'
import { Empty, Loading, ProblemView, Progress } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import { FieldName, Value } from '../../parts/Value.tsx'
import { AsRequest } from '../../query/AsRequest.tsx'
import { suggestAt } from '../../query/completion.ts'
import { isAst, written } from '../../query/pql.ts'
import { QueryEditor } from '../../query/QueryEditor.tsx'
import { QueryFault } from '../../query/QueryFault.tsx'
import { Refused } from '../../query/refused.ts'
import { usualSize, whole } from '../../records/view.ts'
import { href, query, setQuery } from '../../router.ts'
import { who } from '../../session.ts'
import { KeptQuestions } from './KeptQuestions.tsx'
import { keepAsked } from './kept.ts'
import {
  type Answer,
  checkQuestion,
  drawingIn,
  loadAnswer,
  type Question,
  readQuestion,
  requestOfPage,
  viewIn,
} from './questions.ts'
import './questions.css'

/** Whole queries of any shape. The address of this page holds the question. */
export default function QuestionsPage(): JSX.Element {
  const text = query.value.get('q') ?? ''
  const draft = useDraft('question', text)
  const page = whole(query.value.get('page'), 1, Number.MAX_SAFE_INTEGER)
  const size = whole(query.value.get('size'), usualSize, 1_000)
  const known = entities.value
  const asked = useLoad(
    async signal => {
      if (text.trim() === '' || !known) return undefined
      const question = readQuestion(text, known)
      const answer = await loadAnswer(question, { page, size }, signal)
      keepAsked(text)
      return { question, answer }
    },
    [text, page, size, who.value, writes.value, known !== undefined],
  )
  const { value, problem, loading, reload } = asked
  const fault = useFault(draft.value, problem)
  const ask = (next: string) => {
    draft.set(next)
    draft.done()
    setQuery({ q: next.trim(), page: null })
    // A repeated question reloads the answer.
    if (next.trim() === text) reload()
  }
  return (
    <Page
      title={t('questions')}
      lead={t('questions.lead')}
      crumbs={[[t('nav.home'), href('')]]}
      actions={value && <Ways question={value.question} text={text} page={page} size={size} />}
    >
      <Form class="question" aria-label={t('questions.ask')} onSubmit={() => ask(draft.value)}>
        <QueryEditor
          label={t('questions.text')}
          hint={t('questions.hint')}
          placeholder={examplesFor(ownEntities.value)[0] ?? ''}
          value={draft.value}
          onInput={draft.set}
          onApply={() => ask(draft.value)}
          applies="ctrl-enter"
          fault={fault}
          suggestAt={(typed, cursor) =>
            isAst(typed) ? { start: cursor, list: [] } : suggestAt(typed, cursor, known ?? [])
          }
        />
        <div class="row">
          <Submit icon={Play} label={t('questions.ask')} />
          <KeptQuestions text={draft.value} onChoose={ask} />
        </div>
      </Form>
      <section class="stack" aria-busy={loading && text !== ''} aria-label={t('questions.answer')}>
        <Progress busy={loading && value !== undefined} />
        {problem instanceof Refused ? (
          problem.text === draft.value ? null : (
            <QueryFault fault={problem.fault} />
          )
        ) : problem ? (
          <ProblemView problem={problem} retry={reload} />
        ) : text === '' ? (
          <Examples onChoose={ask} />
        ) : !value ? (
          <Loading />
        ) : (
          <div class="stale" aria-busy={loading}>
            <Shown {...value} page={page} size={size} />
          </div>
        )}
      </section>
    </Page>
  )
}

interface Paged {
  readonly question: Question
  readonly page: number
  readonly size: number
}

/** Leads on from a question: to a view, a drawing, a request or a file. */
function Ways({ question, text, page, size }: Paged & { readonly text: string }): JSX.Element {
  const view = viewIn(question)
  const drawing = drawingIn(question)
  return (
    <>
      {view && <LinkButton icon={Table2} label={t('questions.view')} to={view} />}
      {drawing && <LinkButton icon={ChartColumn} label={t('questions.drawing')} to={drawing} />}
      <AsRequest requested={() => requestOfPage(question, { page, size })} />
      <DownloadMenu
        name={question.entity?.name ?? 'question'}
        choices={[{ asked: () => ({ path: pathOf(), parameters: { query: text } }) }]}
      />
    </>
  )
}

/** Time in ms without typing after which the service looks for faults. */
const patience = 350

/** Looks for a fault while a question is typed. What needs no request to be found is found at once. */
function useFault(text: string, problem: unknown) {
  const [refused, setRefused] = useState<unknown>()
  const known = entities.value
  useEffect(() => {
    if (text.trim() === '' || !known) return
    const controller = new AbortController()
    const { signal } = controller
    const check = async () => checkQuestion(readQuestion(text, known), signal)
    const timer = setTimeout(() => check().catch(error => signal.aborted || setRefused(error)), patience)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [text, known])
  const found = [problem, refused].find(one => one instanceof Refused && one.text === text)
  return found instanceof Refused ? found.fault : undefined
}

function Examples({ onChoose }: { readonly onChoose: (text: string) => void }): JSX.Element | null {
  const examples = examplesFor(ownEntities.value)
  return examples.length === 0 ? null : (
    <Section title={t('questions.examples')}>
      <ul class="examples">
        {examples.map(one => (
          <li key={one}>
            <button type="button" class="example" onClick={() => onChoose(one)}>
              <code>{one}</code>
            </button>
          </li>
        ))}
      </ul>
    </Section>
  )
}

/** Maximum number of examples. */
const most = 3

/** Returns questions that can be asked of the first entities, for those who don't know the language yet. */
const examplesFor = (entities: readonly Entity[]): readonly string[] =>
  entities.slice(0, 2).flatMap(examplesOf).slice(0, most)

function examplesOf(entity: Entity): readonly string[] {
  const keys = new Set(keyOf(entity))
  const others = entity.fields.filter(({ name, sortable }) => !keys.has(name) && sortable !== false)
  const isShort =
    /^(place|type|kind|category|class|genre|gender|status|state|role|language|country|city|artist)/i
  const texts = others.filter(({ type }) => type === 'text')
  const text = texts.find(({ name }) => isShort.test(name)) ?? texts[0]
  const number = others.find(({ type }) => type === 'integer' || type === 'number')
  return [
    ...(text
      ? [
          `${entity.name}[${written(text.name)}, count()] {\n  group by ${written(text.name)}\n  order by count() desc\n  limit 20\n}`,
        ]
      : []),
    ...(number
      ? [
          `${entity.name}[count(), min(${written(number.name)}), avg(${written(number.name)}), max(${written(number.name)})] { }`,
        ]
      : []),
  ]
}

/** The label of a column of a related entity, such as `artists.gender`; otherwise its name. */
function relatedInWords(name: string): string {
  const [, other = '', field = ''] = /^([^.]+)\.([^.]+)$/.exec(name) ?? []
  const related = entities.value?.find(one => one.name === other)
  const isLabelled = related?.fields.some(one => one.name === field && one.label !== undefined)
  return related && isLabelled ? `${tOf('entity', other)}: ${labelIn(related, field)}` : name
}

function Shown({
  question: { entity, isWhole },
  answer: { rows, total },
  page,
  size,
}: Paged & { readonly answer: Answer }): JSX.Element {
  if (total === 0) return <Empty title={t('questions.none')} help={t('questions.none.help')} />
  const names = Object.keys(rows[0] ?? {})
  const keys = new Set(isWhole && entity ? keyOf(entity) : [])
  const columns = names.map((name): Column<Answer['rows'][number]> => {
    const field = entity?.fields.find(one => one.name === name)
    const isNumber = rows.every(row => ['number', 'bigint'].includes(typeof row[name]) || row[name] === null)
    return {
      id: name,
      label: field ? <FieldName field={field} /> : <bdi title={name}>{relatedInWords(name)}</bdi>,
      numeric: isNumber && rows.some(row => row[name] !== null),
      cell: row => {
        const shown = <Value value={row[name]} field={field} plain={keys.has(name)} />
        return entity && keys.has(name) ? <a href={href(recordPath(entity, row))}>{shown}</a> : shown
      },
    }
  })
  const places = new Map(rows.map((row, at) => [row, at]))
  return (
    <>
      <Table
        label={t('questions.rows')}
        columns={columns}
        rows={rows}
        idOf={row => (isWhole && entity ? keyPath(entity, row) : String(places.get(row)))}
        pathOf={row => (isWhole && entity ? recordPath(entity, row) : undefined)}
      />
      <AddressPager page={page} size={size} total={total} usual={usualSize} />
    </>
  )
}
