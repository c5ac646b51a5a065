import type { IconNode } from 'lucide'
import { expressionFor, plain } from '../../accents.ts'
import { entities, entityPath, loadPage } from '../../entities.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import {
  Archive,
  House,
  KeyRound,
  Library,
  MessageCircleQuestionMark,
  MonitorSmartphone,
  Settings,
  Table2,
  TextSearch,
  Users,
  UsersRound,
} from '../../icons.ts'
import { furtherPlaces, navigation } from '../../pages.tsx'
import { groupPath } from '../../people/groups.ts'
import { personPath } from '../../people/people.ts'
import { loadItems } from '../../records/items.ts'
import { withQuery } from '../../router.ts'
import { eperson, isAdministrator } from '../../session.ts'

/** A page that can be gone to. */
interface Place {
  readonly path: string
  readonly name: string
  /** Tells it from others of the same name. */
  readonly about?: string
  readonly icon: IconNode
}

export interface Shelf {
  readonly title: string
  readonly places: readonly Place[]
}

/** Maximum number of places of a kind. */
const most = 6

/** Pages of administrators besides those of the navigation. Their names are in their own dictionary. */
async function furtherPages(): Promise<readonly Place[]> {
  if (!isAdministrator.value) return []
  const { a, beginAdminTexts } = await import('../../i18n/admin.ts')
  await beginAdminTexts()
  const about = t('nav.administration')
  return furtherPlaces.map(({ path, name }) => ({ path, name: a(name), icon: Archive, about }))
}

const pages = (): readonly Place[] => [
  { path: '', name: t('nav.home'), icon: House },
  { path: 'items', name: t('nav.items'), icon: Library },
  { path: 'search', name: t('search.title'), icon: TextSearch },
  { path: 'questions', name: t('questions'), icon: MessageCircleQuestionMark },
  ...(isAdministrator.value
    ? navigation.map(({ path, icon, name }) => ({
        path,
        icon,
        name: t(name),
        about: t('nav.administration'),
      }))
    : []),
  ...(eperson.value
    ? (
        [
          ['account', Settings, t('nav.account')],
          ['sessions', MonitorSmartphone, t('nav.sessions')],
          ['tokens', KeyRound, t('nav.tokens')],
        ] as const
      ).map(([path, icon, name]) => ({ path, icon, name, about: t('nav.mine') }))
    : []),
]

/** Finds pages and collections of records by their names. Every word has to be in it, whatever its accents are. */
export async function placesNamed(text: string): Promise<readonly Shelf[]> {
  const words = plain(text).split(/\s+/).filter(Boolean)
  const fits = ({ name, about = '' }: Place) => {
    const named = plain(`${name} ${about}`)
    return words.every(word => named.includes(word))
  }
  const known = (entities.value ?? []).map(({ name, description }) => ({
    path: entityPath(name),
    name: tOf('entity', name),
    icon: Table2,
    ...(description === undefined ? {} : { about: description }),
  }))
  return [
    { title: t('nav'), places: [...pages(), ...(await furtherPages())].filter(fits) },
    { title: t('nav.records'), places: known.filter(fits).slice(0, 3 * most) },
  ]
}

/** The search in everything, for what is no name of a page. */
export const searchFor = (text: string): Shelf => ({
  title: t('search.title'),
  places: [
    {
      path: withQuery('search', { q: text }),
      name: t('search.everywhere', { words: text }),
      icon: TextSearch,
    },
  ],
})

/** Finds items, and for administrators people and groups. What can't be searched now is left out. */
export async function placesFound(text: string, signal: AbortSignal): Promise<readonly Shelf[]> {
  const words = text.split(/\s+/).filter(Boolean).slice(0, 10)
  /** Finds rows of a built-in collection in which every word is in one of the fields. @returns readers of their fields */
  const search = async (entity: string, fields: readonly string[]) => {
    const wordIn = (word: string) => (field: string) => ['~', field, expressionFor(word)]
    const condition = ['and', ...words.map(word => ['or', ...fields.map(wordIn(word))])]
    const { records } = await loadPage(entity, { query: JSON.stringify(condition), limit: most }, signal)
    return records.map(one => (name: string) => (one[name] === null ? '' : String(one[name])))
  }
  const shelf = async (title: string, find: () => Promise<readonly Place[]>): Promise<Shelf> => ({
    title,
    places: await find().catch(() => []),
  })
  const open = [
    shelf(t('nav.items'), async () =>
      (await loadItems(text, 1, signal)).records
        .slice(0, most)
        .map(({ uuid, title, identifier, authors }) => ({
          path: `items/${uuid}`,
          name: title ?? identifier,
          about: authors.join('; '),
          icon: Library,
        })),
    ),
  ]
  if (isAdministrator.value)
    open.push(
      shelf(t('nav.people'), async () =>
        (await search('epersons', ['first_name', 'last_name', 'email'])).map(of => ({
          path: personPath(of('uuid')),
          name: `${of('first_name')} ${of('last_name')}`.trim() || of('email'),
          about: of('email'),
          icon: Users,
        })),
      ),
      shelf(t('nav.groups'), async () =>
        (await search('groups', ['name'])).map(of => ({
          path: groupPath(of('uuid')),
          name: of('name'),
          icon: UsersRound,
        })),
      ),
    )
  return Promise.all(open)
}
