import { Process } from '../../admin/processes/schemas.ts'
import type { Contracts } from '../../http/contract.ts'
import type { ProblemCode } from '../../http/problems.ts'
import {
  answer,
  closed,
  count,
  Json,
  json,
  Link,
  listOf,
  Misfit,
  named,
  nothing,
  oneOf,
  orNull,
  pageOf,
  parameter,
  Type,
  text,
  time,
  uri,
} from '../../http/schema.ts'
import { delimiters } from '../../import/delimiters.ts'
import { encodings } from '../../import/encodings.ts'
import { maxFields } from '../../import/field-list.ts'
import { localFormats } from '../../import/local-forms.ts'
import { noteKinds } from '../../import/notes.ts'
import { fieldTypes } from '../../import/types.ts'
import { declarationLimits } from '../../model/declared-fields.ts'
import { ruleForms } from '../../model/readers.ts'
import { quotings, ways } from '../../model/recipes.ts'
import { FieldDescription, formats, Key, PlainValue, Relation } from '../../query/schemas.ts'
import { maxEmpty, maxSeparator, maxText } from '../recipe.ts'

export const tag = 'Administration of entities'

const Mix = closed({
  line: count,
  kind: text,
  earlier: closed({ line: count, kind: text }),
})
const Written = { line: count, text }
const Digits = closed({ ...Written, earlier: closed(Written) })
const Field = closed(FieldDescription)
const rule = Type.String({
  description: `${ruleForms}. An e-mail address is replaced by the UUID.`,
})
const table = closed({ schema: text, name: text })

const fieldName = Type.String({ minLength: 1, maxLength: maxText })
const texts = Type.Array(Type.String({ maxLength: maxText }), { maxItems: maxEmpty })
const FieldRecipe = named('FieldRecipe', {
  read: Type.Optional(oneOf(...ways)),
  separator: Type.Optional(Type.String({ minLength: 1, maxLength: maxSeparator })),
  collation: Type.Optional(text),
  empty: Type.Optional(texts),
  rename: Type.Optional(fieldName),
  leaveOut: Type.Optional(Type.Boolean()),
})
const Recipe = named('Recipe', {
  delimiter: Type.Optional(text),
  encoding: Type.Optional(text),
  quote: Type.Optional(oneOf(...quotings)),
  shortRows: Type.Optional(Type.Boolean()),
  decimalComma: Type.Optional(Type.Boolean()),
  decimalPoint: Type.Optional(Type.Boolean()),
  dayFirst: Type.Optional(Type.Boolean()),
  empty: Type.Optional(texts),
  key: Type.Optional(Type.Union([fieldName, Type.Array(fieldName, { minItems: 1, maxItems: maxFields })])),
  fields: Type.Optional(Type.Record(text, FieldRecipe)),
})

const entity = {
  name: text,
  source: oneOf('imported', 'exposed', 'built-in'),
  description: orNull(text),
  read: rule,
  write: orNull(rule),
  key: Key,
  fields: Type.Array(Field),
  records: orNull(count),
  bytes: orNull(count),
  imported: orNull(time),
  table: orNull(table),
  relations: Type.Array(Relation),
  related: Type.Array(Relation),
  defaultCondition: Json,
  recipe: Type.Optional(Recipe),
  _links: closed({
    self: Link,
    records: Link,
    import: Type.Optional(Link),
    versions: Type.Optional(Link),
  }),
}
const Suggestion = named('SuggestedRelation', {
  entity: text,
  fields: Type.Array(text),
  to: closed({ entity: text, fields: Type.Array(text) }),
})
const Warnings = Type.Optional(
  Type.Array(closed({ member: text, detail: text }), {
    description: 'New relations that relate no records at the moment; only in the answer to a change.',
  }),
)
const Entity = named('Entity', { ...entity, suggested: Type.Array(Suggestion), warnings: Warnings })
const EntityPage = pageOf('entities', named('ListedEntity', entity), 'EntityPage')

const Versions = pageOf(
  'versions',
  named('KeptVersion', {
    id: count,
    replaced: time,
    replacedBy: oneOf('entity.import', 'entity.update', 'entity.change', 'entity.restore'),
    until: time,
    key: Key,
    fields: count,
    records: count,
    bytes: count,
    _links: closed({ restore: Link }),
  }),
  'KeptVersionPage',
)

const ExposableTables = pageOf(
  'tables',
  named('ExposableTable', {
    schema: text,
    name: text,
    kind: oneOf('table', 'view', 'materialized view', 'foreign table'),
    key: Type.Array(text, { description: 'Of the primary key; empty: it has none.' }),
    fields: Type.Array(Field),
    entities: Type.Array(text, { description: 'Those that show it.' }),
  }),
  'ExposableTablePage',
)

/** A member that only an answer has: a client may send back what it got. */
const ignored = Type.Optional(Type.Unknown({ readOnly: true, description: 'Ignored.' }))
const name = Type.String({ minLength: 1, maxLength: 1_000, format: 'text' })
const names = (maxItems: number) => Type.Array(name, { minItems: 1, maxItems })
const pairs = names(20)

const declared = {
  name: Type.Optional(text),
  read: Type.Optional(rule),
  write: Type.Optional(orNull(rule)),
  description: Type.Optional(orNull(Type.String({ minLength: 1, maxLength: 2_000, format: 'text' }))),
  relations: Type.Optional(
    orNull(
      Type.Array(closed({ fields: pairs, to: closed({ entity: name, fields: pairs }) }), { maxItems: 100 }),
    ),
  ),
  defaultCondition: Type.Optional(orNull(Type.Union([text, Type.Array(Json)]))),
  recipe: Type.Optional(orNull(Recipe)),
}
/** Members that say what is declared of a field; null takes one back. */
const declarations = {
  label: Type.Optional(orNull(text)),
  help: Type.Optional(orNull(text)),
  unit: Type.Optional(orNull(text)),
  format: Type.Optional(orNull(oneOf(...formats))),
  required: Type.Optional(orNull(Type.Boolean())),
  default: Type.Optional(orNull(PlainValue)),
  unique: Type.Optional(orNull(Type.Boolean())),
  oneOf: Type.Optional(orNull(Type.Array(PlainValue, { minItems: 1, maxItems: declarationLimits.values }))),
  references: Type.Optional(orNull(text)),
}
const WantedField = closed({
  name,
  type: Type.Optional(oneOf(...fieldTypes)),
  collation: Type.Optional(text),
  list: Type.Optional(
    Type.Boolean({ description: 'true for a field of type json that holds arrays of texts.' }),
  ),
  nullable: ignored,
  sortable: ignored,
  ...declarations,
})
const WantedEntity = named('WantedEntity', {
  ...declared,
  key: Type.Optional(orNull(Type.Union([name, names(maxFields)]))),
  fields: Type.Optional(
    orNull(Type.Array(Type.Union([name, WantedField]), { minItems: 1, maxItems: maxFields })),
  ),
  table: Type.Optional(orNull(closed({ schema: Type.Optional(name), name }))),
  source: ignored,
  records: ignored,
  bytes: ignored,
  imported: ignored,
  related: ignored,
  suggested: ignored,
  _links: ignored,
})
const EntityChange = named('EntityChange', {
  ...declared,
  collations: Type.Optional(Type.Record(text, orNull(text))),
  fields: Type.Optional(
    Type.Record(text, orNull(closed(declarations)), {
      description: 'What is declared of fields, by their names; null takes back all that is declared of one.',
    }),
  ),
})

const FieldsChange = named('FieldsChange', {
  add: Type.Optional(
    Type.Array(closed({ name, type: oneOf(...fieldTypes), default: Type.Optional(PlainValue) }), {
      minItems: 1,
      maxItems: maxFields,
    }),
  ),
  remove: Type.Optional(names(maxFields)),
  rename: Type.Optional(Type.Record(text, name)),
  types: Type.Optional(Type.Record(text, oneOf(...fieldTypes))),
})
const MisfitsFound = named('Misfits', { misfits: Type.Array(Misfit), warnings: Warnings })

/** Counts of changes that an import has made, or would make. */
const counts = {
  inserted: Type.Optional(count),
  replaced: Type.Optional(count),
  deleted: Type.Optional(count),
  unchanged: Type.Optional(count),
}
const Loss = closed({
  records: closed({ before: count, after: count, gone: count, isEstimate: Type.Boolean() }),
  fields: closed({ before: count, after: count, gone: Type.Array(text) }),
  needsReplace: Type.Boolean({ description: 'True if the import is refused without `replace=true`.' }),
})
const Alike = closed({ count, lines: Type.Array(count) })
const Fault = closed({
  line: orNull(count),
  field: orNull(text),
  message: text,
  alike: Type.Optional(Alike),
  repair: Type.Optional(Recipe),
})
const Note = named('ImportNote', {
  kind: oneOf(...noteKinds),
  field: orNull(text),
  count,
  line: count,
  example: Type.Optional(text),
  message: text,
})
const RecordKey = { key: Type.Array(text, { description: 'The values of the key fields.' }) }
const changed = { name: text, before: text, after: text }
const Differences = named('ImportDifferences', {
  counts: closed({ inserted: count, replaced: count, deleted: count, unchanged: count }),
  first: closed(
    {
      inserted: Type.Array(closed(RecordKey)),
      replaced: Type.Array(
        closed({
          ...RecordKey,
          fields: Type.Array(closed(changed), { description: 'Values before and after, as JSON.' }),
        }),
      ),
      deleted: Type.Array(closed(RecordKey)),
    },
    { description: 'The first records of each kind.' },
  ),
  fields: closed({
    inserted: Type.Array(closed({ name: text, type: text })),
    retyped: Type.Array(closed(changed)),
    deleted: Type.Array(text),
  }),
})
const ofKind = { count, line: count, example: text }
const Preview = named('ImportPreview', {
  entity: text,
  format: orNull(oneOf('csv', 'ndjson', 'json')),
  encoding: orNull(oneOf(...encodings)),
  delimiter: orNull(oneOf(...delimiters)),
  key: Key,
  records: count,
  fields: Type.Array(
    closed({
      ...FieldDescription,
      nulls: Type.Optional(count),
      mix: Type.Optional(Mix),
      looks: Type.Optional(oneOf(...localFormats)),
      digits: Type.Optional(Digits),
      from: Type.Optional(Type.String({ description: 'The name in the file, if the recipe renames it.' })),
      kinds: Type.Optional(
        Type.Array(
          closed({
            kind: text,
            ...ofKind,
            quoted: Type.Optional(
              closed(ofKind, {
                description: 'Those that JSON writes as texts; offers read them as the others.',
              }),
            ),
          }),
          { description: 'Kinds of values that make it what it is, the most frequent first.' },
        ),
      ),
      texts: Type.Optional(Type.Array(closed({ text, count, line: count }))),
      moreTexts: Type.Optional(count),
      offers: Type.Optional(
        Type.Array(FieldRecipe, { description: 'Changes of its recipe that would give it another type.' }),
      ),
      currency: Type.Optional(
        Type.String({ description: 'The sign of a currency that the offered numbers would lose.' }),
      ),
    }),
  ),
  sample: Type.Array(Type.Record(text, Json)),
  changes: Type.Optional(closed(counts)),
  loss: Type.Optional(Loss),
  differences: Type.Optional(Differences),
  notes: Type.Array(Note, { description: 'What was assumed about the file.' }),
  faults: Type.Array(Fault),
  moreFaults: count,
})

const etag = { ETag: text }
const changing = {
  'If-Match': parameter(text, 'The change is made only if the entity has this tag.'),
  'If-None-Match': parameter(text),
}
const refused = [
  'bad-parameter',
  'not-found',
  'unknown-entity',
  'entity-conflict',
  'entity-refused',
  'precondition-failed',
] as const satisfies readonly ProblemCode[]
/** Files as programs send them; all but the compressed ones are text. */
const records = {
  'text/csv': text,
  'application/x-ndjson': text,
  'application/json': Type.String({
    contentMediaType: 'application/json',
    description: 'An array of records.',
  }),
  'application/gzip': Type.String({ contentMediaType: 'application/gzip' }),
  'application/octet-stream': Type.String({ contentMediaType: 'application/octet-stream' }),
}

export const contracts = {
  listTables: {
    summary: 'Tables and views of PostgreSQL that can be shown as entities',
    ...listOf(
      ExposableTables,
      { query: parameter(text, 'Part of their names with the schema.') },
      'A page; empty on the embedded store.',
    ),
  },
  listEntities: {
    summary: 'All entities',
    ...listOf(EntityPage),
  },
  showEntity: {
    summary: 'One entity',
    answers: { 200: answer('The entity.', json(Entity), etag) },
    problems: ['bad-parameter', 'unknown-entity', 'not-found'],
  },
  putEntity: {
    summary: 'Make an entity, or replace what is declared of it',
    headers: changing,
    body: json(WantedEntity),
    answers: {
      200: answer('The entity.', json(Entity), etag),
      201: answer('The new entity.', json(Entity), { ...etag, Location: uri }),
    },
    problems: refused,
  },
  changeEntity: {
    summary: 'Change what is declared of an entity',
    query: {
      preview: parameter(
        Type.Boolean(),
        'Whether nothing is changed, and the answer says which records don’t fit.',
      ),
    },
    headers: changing,
    body: { 'application/merge-patch+json': EntityChange, 'application/json': EntityChange },
    answers: {
      200: answer('The entity, or the preview.', json(Type.Union([Entity, MisfitsFound])), etag),
      202: answer('Collations take a process.', json(Process), { Location: uri }),
    },
    problems: refused,
  },
  changeFields: {
    summary: 'Change the fields of an imported entity with its records',
    description:
      'A process adds, removes and renames fields and changes their types, for all records or for none. The version before is kept.',
    query: {
      preview: parameter(
        Type.Boolean(),
        'Whether the process only says which values can’t have their new type.',
      ),
    },
    headers: { 'If-Match': changing['If-Match'] },
    body: json(FieldsChange),
    answers: { 202: answer('A process does it.', json(Process), { Location: uri }) },
    problems: refused,
  },
  dropEntity: {
    summary: 'Drop the records of an entity, or stop showing the table',
    headers: changing,
    answers: { 204: nothing('It is gone.') },
    problems: refused,
  },
  listVersions: {
    summary: 'Versions of an entity that imports have replaced',
    ...listOf(Versions, {}, 'A page, the newest first.'),
    problems: ['unknown-entity', 'not-found', 'entity-conflict'],
  },
  restoreVersion: {
    summary: 'Restore a version of an entity',
    description:
      'The entity has the records, fields and key of the version again, in one step. What is declared of it stays. The version that it had is kept, so that this can be undone.',
    path: { version: count },
    headers: { 'If-Match': changing['If-Match'] },
    answers: { 204: nothing('It is restored.') },
    problems: [
      ...['bad-parameter', 'not-found', 'unknown-entity'],
      ...['entity-conflict', 'precondition-failed'],
    ] as readonly ProblemCode[],
  },
  importRecords: {
    summary: 'Import records',
    query: {
      mode: parameter(oneOf('replace', 'update', 'delete')),
      preview: parameter(Type.Boolean(), 'Whether nothing is changed, and the answer says what would be.'),
      format: parameter(oneOf('csv', 'ndjson', 'json')),
      upload: parameter(text, 'A finished upload, instead of a body.'),
      read: parameter(rule),
      replace: parameter(
        Type.Boolean(),
        'Whether more than a tenth of the records may go, and fields. Otherwise such an import fails.',
      ),
      key: parameter(Type.Array(text), '`_row` numbers the records.'),
      type: parameter(Type.Array(text), 'Such as `year=integer`.'),
      collation: parameter(Type.Array(text), 'Such as `name=sv`.'),
      delimiter: parameter(text, 'Between the cells of a table: `comma`, `semicolon`, `tab` or `pipe`.'),
      quote: parameter(oneOf(...quotings), '`none`: quotes are text.'),
      'short-rows': parameter(
        Type.Boolean(),
        'Whether cells that are missing at the end of a row are empty.',
      ),
      encoding: parameter(oneOf(...encodings), 'Of a file that is not UTF-8.'),
      'decimal-comma': parameter(Type.Boolean(), 'Whether numbers of a table may be such as `1.234,5`.'),
      'decimal-point': parameter(Type.Boolean(), 'Whether numbers of a table may be such as `1,234.5`.'),
      recipe: parameter(
        text,
        'A `Recipe` as JSON: how the file is read. It is kept with the entity, and read by again at the next import without such options. `{}` reads the file as it looks, and keeps none.',
      ),
      'day-first': parameter(Type.Boolean(), 'Whether dates of a table may be such as `31.12.2024`.'),
    },
    body: records,
    answers: {
      200: answer('The preview.', json(Preview)),
      202: answer('A process does it.', json(Process), { Location: uri }),
    },
    problems: [...refused, 'upload-in-use', 'no-room'],
  },
} as const satisfies Contracts
