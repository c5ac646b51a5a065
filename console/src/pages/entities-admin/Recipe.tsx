import type { Schemas } from '@carrel/client'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { changeDeclared, type Tagged } from '../../administration/declared.ts'
import { delimiterWords, type Way, wayInWords } from '../../administration/recipes.ts'
import { type TrailEvent, trail } from '../../administration/trail.ts'
import { loadPage } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { formatTime, t, tOf } from '../../i18n/i18n.ts'
import { Download, Trash2 } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button } from '../../parts/controls.tsx'
import { Facts } from '../../parts/Facts.tsx'
import { useLoad } from '../../parts/load.ts'
import { Section } from '../../parts/Page.tsx'
import { save } from '../../parts/save.ts'
import { type Column, Table } from '../../parts/Table.tsx'
import { toast } from '../../parts/toast.tsx'
import { href } from '../../router.ts'

type Recipe = Schemas['Recipe']
type Row = readonly [name: string, field: Schemas['FieldRecipe']]

interface Parts {
  readonly tagged: Tagged
  readonly recipe: Recipe
  readonly onChange: () => void
}

/** Says how the next file of an entity is read, and where that comes from. It can be saved as a file, and removed. */
export function KeptRecipe({ tagged: { entity, tag }, recipe, onChange }: Parts): JSX.Element {
  const { name } = entity
  const [isRemoving, setRemoving] = useState(false)
  const { value: origin } = useLoad(signal => originOf(name, signal), [name, JSON.stringify(recipe)])
  const { fields = {} } = recipe
  const columns: readonly Column<Row>[] = [
    { id: 'name', label: a('recipe.in-file'), cell: ([field]) => <bdi>{field}</bdi> },
    { id: 'how', label: a('recipe.how'), wrap: true, cell: ([, field]) => <bdi>{inWords(field)}</bdi> },
  ]
  return (
    <Section title={a('import.recipe')}>
      <p class="soft">
        {a('recipe.lead')}{' '}
        {origin && (
          <a href={href(`admin/audit/${origin.id}`)}>
            {a('recipe.since', { time: formatTime(origin.time), event: tOf('event', origin.event) })}
          </a>
        )}
      </p>
      <RecipeFacts recipe={recipe} />
      {Object.keys(fields).length > 0 && (
        <Table
          label={a('import.recipe')}
          columns={columns}
          rows={Object.entries(fields)}
          idOf={([field]) => field}
        />
      )}
      <div class="row">
        <Button
          icon={Download}
          label={a('import.recipe.save')}
          onClick={() => {
            const json = `${JSON.stringify(recipe, null, 2)}\n`
            save(new Blob([json], { type: 'application/json' }), `${name}.recipe.json`)
          }}
        />
        <Button icon={Trash2} label={a('recipe.remove')} onClick={() => setRemoving(true)} />
      </div>
      {isRemoving && (
        <Confirm
          title={a('recipe.remove.title', { name })}
          act={t('remove')}
          onClose={() => setRemoving(false)}
          work={async () => {
            await changeDeclared(name, { recipe: null }, tag)
            toast(a('recipe.removed'))
            onChange()
          }}
          help={a('recipe.remove.help')}
        />
      )}
    </Section>
  )
}

function RecipeFacts({ recipe }: { readonly recipe: Recipe }): JSX.Element {
  const { delimiter, quote, shortRows, encoding, decimalComma, decimalPoint, dayFirst } = recipe
  const { empty = [], key } = recipe
  const word = Object.values(delimiterWords).find(one => one === delimiter)
  return (
    <Facts
      of={[
        key !== undefined && [a('entity.key'), <bdi>{[key].flat().join(', ')}</bdi>],
        delimiter !== undefined && [
          a('import.delimiter'),
          word ? a(`import.delimiter.${word}`) : <bdi>{delimiter}</bdi>,
        ],
        quote !== undefined && [a('import.quote'), a(`import.quote.${quote}`)],
        shortRows === true && [a('import.shortRows'), t('yes')],
        encoding !== undefined && [a('import.encoding'), <bdi>{encoding}</bdi>],
        decimalComma === true && [a('recipe.numbers'), a('import.way.decimal-comma')],
        decimalPoint === true && [a('recipe.numbers'), a('import.way.decimal-point')],
        dayFirst === true && [a('recipe.dates'), a('import.way.day-first')],
        empty.length > 0 && [a('recipe.empty'), <bdi>{empty.map(quoted).join(', ')}</bdi>],
      ]}
    />
  )
}

const quoted = (text: string) => JSON.stringify(text)

/** Describes the reading of a field in one line. */
function inWords({ read, separator, collation, empty = [], rename, leaveOut }: Row[1]): string {
  if (leaveOut) return a('recipe.left-out')
  const way = read && wayInWords(read as Way)
  return [
    rename !== undefined && a('recipe.renamed', { name: rename }),
    way !== undefined &&
      a('recipe.read', { way: separator === undefined ? way : `${way} (${quoted(separator)})` }),
    collation !== undefined && a('recipe.sorted', { tag: collation }),
    empty.length > 0 && a('recipe.empty.of', { texts: empty.map(quoted).join(', ') }),
  ]
    .filter(Boolean)
    .join(' · ')
}

/** Maximum number of events in which the origin of a recipe is looked for. */
const most = 100

/** The event that has given the entity its recipe; undefined if the audit trail has it no more. */
async function originOf(name: string, signal: AbortSignal): Promise<TrailEvent | undefined> {
  const among = ['in', 'event', ['array', ['entity.import', 'entity.change']]]
  const { records } = await loadPage(
    trail,
    {
      query: JSON.stringify(['and', ['=', 'object', name], among]),
      order: [{ field: 'id', order: 'desc' }],
      limit: most,
    },
    signal,
  )
  return (records as readonly TrailEvent[]).find(({ changes }) => hasRecipe(changes))
}

const hasRecipe = (changes: unknown): boolean => {
  const { after } = (changes ?? {}) as { readonly after?: { readonly recipe?: unknown } | null }
  return after?.recipe !== undefined && after.recipe !== null
}
