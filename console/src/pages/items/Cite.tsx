import type { JSX } from 'preact'
import { t } from '../../i18n/i18n.ts'
import { Quote } from '../../icons.ts'
import { Menu, MenuEntries } from '../../parts/Menu.tsx'
import { toast } from '../../parts/toast.tsx'
import type { Item } from '../../records/items.ts'
import { href } from '../../router.ts'
import { repositoryName } from '../../settings.ts'
import { asBibtex, asCslJson, asText, type Cited } from './citation.ts'

const formats = [
  ['cite.text', asText],
  ['cite.bibtex', asBibtex],
  ['cite.csl', asCslJson],
] as const

/** Copies a citation of an item in one of several formats. */
export function Cite({ item }: { readonly item: Item }): JSX.Element {
  const cited: Cited = {
    item,
    repository: repositoryName,
    address: new URL(href(`items/${item.uuid}`), location.origin).href,
  }
  const copy = (text: string) =>
    navigator.clipboard.writeText(text).then(
      () => toast(t('cite.copied')),
      () => toast(t('cite.not-copied'), 'bad'),
    )
  return (
    <Menu icon={Quote} button={t('cite')}>
      {close => (
        <div class="cite">
          <p>
            <bdi>{asText(cited)}</bdi>
          </p>
          <MenuEntries
            close={close}
            of={formats.map(([name, write]) => [t(name), () => copy(write(cited))])}
          />
        </div>
      )}
    </Menu>
  )
}
