import type { JSX } from 'preact'
import { type Entity, isBuiltIn, loadEntities, loadPage } from '../../entities.ts'
import { formatNumber, t, tOf } from '../../i18n/i18n.ts'
import { ArrowRight } from '../../icons.ts'
import { inOrder } from '../../in-order.ts'
import { Button } from '../../parts/controls.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad } from '../../parts/load.ts'
import { Page, Section } from '../../parts/Page.tsx'
import { Empty, loginHref, Pending } from '../../parts/states.tsx'
import { href } from '../../router.ts'
import { who } from '../../session.ts'
import { isDemo, showStep, step } from '../../tour.ts'
import './home.css'

/** An overview of the entities, with their fields and the number of records that the caller may read. */
export default function Home(): JSX.Element {
  const { value: list, problem, reload } = useLoad(loadEntities, [who.value])
  return (
    <Page title={t('home.title')} lead={t('home.lead')}>
      {problem || !list ? <Pending problem={problem} retry={reload} /> : <Lists list={list} />}
    </Page>
  )
}

function Lists({ list }: { readonly list: readonly Entity[] }): JSX.Element {
  const sorted = inOrder(list)
  const own = sorted.filter(({ name }) => !isBuiltIn(name))
  const kept = sorted.filter(({ name }) => isBuiltIn(name))
  const login = who.value.kind === 'nobody' && <a href={loginHref()}>{t('home.more')}</a>
  return (
    <>
      {isDemo(list) && <Invitation />}
      <Section title={t('home.entities')}>
        {own.length === 0 ? <Empty title={t('home.none')}>{login}</Empty> : <Catalogue list={own} />}
      </Section>
      <Section title={t('home.built-in')}>
        <Catalogue list={kept} minor />
        <p class="small soft">
          {t('home.api')} <a href={new URL('../api/docs', document.baseURI).href}>{t('home.api.link')}</a>
        </p>
      </Section>
    </>
  )
}

const Invitation = (): JSX.Element | null =>
  step.value === undefined ? (
    <section class="invitation">
      <div>
        <h2>{t('tour')}</h2>
        <p class="soft">{t('tour.what')}</p>
      </div>
      <Button look="primary" onClick={() => showStep(0)}>
        {t('tour.start')}
        <Icon of={ArrowRight} />
      </Button>
    </section>
  ) : null

interface Parts {
  readonly list: readonly Entity[]
  readonly minor?: boolean
}

const Catalogue = ({ list, minor }: Parts): JSX.Element => (
  <ul class={`catalogue ${minor ? 'minor' : ''}`}>
    {list.map(entity => (
      <li key={entity.name}>
        <a class="name" href={href(`entities/${encodeURIComponent(entity.name)}`)}>
          {tOf('entity', entity.name)}
        </a>
        <div class="about">
          {entity.description && <p>{entity.description}</p>}
          <p class="fields">
            {t('home.fields', { n: entity.fields.length })}
            {!minor && (
              <bdi>
                {`: ${entity.fields
                  .slice(0, 24)
                  .map(({ name }) => name)
                  .join(', ')}${entity.fields.length > 24 ? '…' : ''}`}
              </bdi>
            )}
          </p>
        </div>
        <Count name={entity.name} />
      </li>
    ))}
  </ul>
)

/** The exact number of records that the caller may read, shown when it is known. */
function Count({ name }: { readonly name: string }): JSX.Element {
  const { value, loading } = useLoad(signal => loadPage(name, { limit: 1 }, signal), [name, who.value])
  return (
    <span class="count number" aria-busy={loading}>
      {value ? (
        <>
          <strong>{formatNumber(value.total)}</strong>{' '}
          <span class="soft small">{t('home.records', { n: value.total }).replace(/[\d.,\s’]+/, '')}</span>
        </>
      ) : (
        <span class="soft" title={loading ? undefined : t('home.uncounted')}>
          {loading ? '…' : '–'}
          {!loading && <span class="sr-only">{t('home.uncounted')}</span>}
        </span>
      )}
    </span>
  )
}
