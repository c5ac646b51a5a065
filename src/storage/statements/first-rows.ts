import { randomUUID } from 'node:crypto'
import { administratorGroup, nameKey } from '../../model/accounts.ts'
import { epersongroup } from '../schema/people.ts'
import { metadataField, metadataSchema } from '../schema/service.ts'
import type { Change } from './statements.ts'
import * as db from './statements.ts'

/** The rows of a new store: the group of administrators, and Dublin Core in the registry of metadata. */
export function* firstRows(): Change<void> {
  yield* db.insert(epersongroup, {
    uuid: randomUUID(),
    name: administratorGroup,
    name_key: nameKey(administratorGroup),
    special: 1,
    created: db.now(),
  })
  yield* db.insert(metadataSchema, { prefix: 'dc', namespace: 'http://purl.org/dc/elements/1.1/' })
  for (const name of dublinCore) {
    const [element, qualifier] = name.split('.')
    yield* db.insert(metadataField, {
      schema_id: 1,
      name: `dc.${name}`,
      element: element ?? '',
      qualifier: qualifier ?? null,
    })
  }
}

const dublinCore = [
  ...['title', 'title.alternative', 'contributor', 'contributor.author', 'contributor.advisor'],
  ...['contributor.editor', 'creator', 'coverage', 'coverage.spatial', 'coverage.temporal', 'date'],
  ...['date.issued', 'date.created', 'date.accessioned', 'date.available', 'description'],
  ...['description.abstract', 'description.provenance', 'description.sponsorship', 'format', 'format.extent'],
  ...['identifier', 'identifier.citation', 'identifier.doi', 'identifier.isbn', 'identifier.issn'],
  ...['identifier.other', 'identifier.uri', 'language', 'language.iso', 'publisher', 'relation'],
  ...['relation.ispartof', 'relation.ispartofseries', 'rights', 'rights.license', 'rights.uri', 'source'],
  ...['subject', 'subject.ddc', 'subject.lcsh', 'type'],
]
