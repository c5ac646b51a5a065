import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { t } from '../../i18n/i18n.ts'
import { Library, Search } from '../../icons.ts'
import { Button, Form, Input, NameLink, Select } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { useLoad } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { AddressPager } from '../../parts/Pager.tsx'
import { Empty, loginHref, Pending, Progress } from '../../parts/states.tsx'
import { cut } from '../../parts/Value.tsx'
import { AsRequest } from '../../query/AsRequest.tsx'
import {
  type Bitstream,
  type Item,
  type ItemOrder,
  itemsAsked,
  itemsPerPage,
  loadItems,
  loadPictures,
  orders,
} from '../../records/items.ts'
import { query, setQuery } from '../../router.ts'
import { who } from '../../session.ts'
import { contentOf } from './Viewer.tsx'
import './items.css'

/** The items that the caller may read. */
export default function Items(): JSX.Element {
  const search = query.value.get('search') ?? ''
  const order = orderOf(query.value.get('sort'))
  const page = Math.max(1, Math.trunc(Number(query.value.get('page'))) || 1)
  const { value, problem, loading, reload } = useLoad(
    signal => loadItems(search, page, signal, order),
    [search, order, page, who.value],
  )
  const pictures = useLoad(async signal => (value ? loadPictures(value.records, signal) : undefined), [value])
  return (
    <Page
      title={t('items.title')}
      lead={t('items.lead')}
      actions={<AsRequest requested={() => itemsAsked(search, page, order)} />}
    >
      <Progress busy={loading && value !== undefined} />
      <div class="toolbar spread">
        <SearchForm search={search} />
        <label class="row">
          {t('items.sort')}
          <Select
            value={order}
            onChoose={chosen => setQuery({ sort: chosen, page: null })}
            options={(Object.keys(orders) as ItemOrder[]).map(one => [one, t(`items.sort.${one}`)])}
          />
        </label>
      </div>
      {problem || !value ? (
        <Pending problem={problem} retry={reload} />
      ) : value.total === 0 ? (
        <Empty icon={Library} title={search ? t('items.none.found') : t('items.none')}>
          {search && <Button label={t('items.all')} onClick={() => setQuery({ search: null, page: null })} />}
          {who.value.kind === 'nobody' && <a href={loginHref()}>{t('home.more')}</a>}
        </Empty>
      ) : (
        <div>
          <ul class="shelf">
            {value.records.map(item => (
              <Entry key={item.uuid} item={item} picture={pictures.value?.get(item.uuid)} />
            ))}
          </ul>
          <AddressPager page={page} size={itemsPerPage} total={value.total} />
        </div>
      )}
    </Page>
  )
}

function SearchForm({ search }: { readonly search: string }): JSX.Element {
  const [typed, setTyped] = useState(search)
  return (
    <search>
      <Form class="search" onSubmit={() => setQuery({ search: typed.trim(), page: null })}>
        <Field hidden label={t('items.search')}>
          <Input type="search" placeholder={t('items.search')} value={typed} onText={setTyped} />
        </Field>
        <Button type="submit" icon={Search} label={t('search')} />
      </Form>
    </search>
  )
}

const orderOf = (text: string | null): ItemOrder =>
  text !== null && Object.hasOwn(orders, text) ? (text as ItemOrder) : 'issued'

interface Parts {
  readonly item: Item
  readonly picture: Bitstream | undefined
}

const Entry = ({ item, picture }: Parts): JSX.Element => (
  <li>
    <div>
      <h2>
        <NameLink to={`items/${item.uuid}`} name={cut(item.title ?? item.identifier, 300)} />
      </h2>
      <p class="soft small row">
        {item.authors.length > 0 && <bdi>{cut(item.authors.join('; '), 200)}</bdi>}
        {item.issued && <bdi>{cut(item.issued, 40)}</bdi>}
        {item.type && <bdi class="tag">{cut(item.type, 60)}</bdi>}
        {item.withdrawn && <span class="tag warn">{t('items.withdrawn')}</span>}
        {!item.discoverable && <span class="tag warn">{t('items.private')}</span>}
      </p>
    </div>
    {picture && <Thumbnail key={picture.uuid} file={picture} />}
  </li>
)

/**
 * A small picture of an item. It is loaded when it comes into view, with the session's own header: no address
 * with a token is kept anywhere. A file that is no picture after all stays an empty frame.
 */
function Thumbnail({ file }: { readonly file: Bitstream }): JSX.Element {
  const frame = useRef<HTMLSpanElement>(null)
  const [address, setAddress] = useState<string>()
  useEffect(() => {
    const { current } = frame
    if (!current) return
    const controller = new AbortController()
    let made: string | undefined
    const load = async () => {
      const { signal } = controller
      const response = await service.value.request('GET', contentOf(file), {
        headers: { accept: '*/*' },
        signal,
      })
      const content = await response.blob()
      if (signal.aborted) return
      made = URL.createObjectURL(content)
      setAddress(made)
    }
    const observer = new IntersectionObserver(seen => {
      if (!seen.some(one => one.isIntersecting)) return
      observer.disconnect()
      // Without its picture, the item is still there.
      load().catch(() => {})
    })
    observer.observe(current)
    return () => {
      observer.disconnect()
      controller.abort()
      if (made !== undefined) URL.revokeObjectURL(made)
    }
  }, [])
  return (
    <span class="thumb" ref={frame}>
      {address && <img src={address} alt="" onError={() => setAddress(undefined)} />}
    </span>
  )
}
