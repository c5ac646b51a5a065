import type { Schemas } from '@carrel/client'
import type { JSX } from 'preact'
import { acting, service } from '../../api.ts'
import { formatAgo, formatDuration, t, tOf } from '../../i18n/i18n.ts'
import { Download } from '../../icons.ts'
import { Button } from '../../parts/controls.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { NeedsLogin } from '../../parts/NeedsLogin.tsx'
import { Page, Section } from '../../parts/Page.tsx'
import { save } from '../../parts/save.ts'
import { ProblemNotice } from '../../parts/states.tsx'
import { FactorsSection } from '../../people/Factors.tsx'
import { loadFactors } from '../../people/factors.ts'
import { type Eperson, isAdministrator, useTimeLeft } from '../../session.ts'
import { PasswordForm } from './PasswordForm.tsx'
import { ProfileForm } from './ProfileForm.tsx'
import '../../people/account.css'
import { pathOf } from '../../entities.ts'

/** The caller's account: profile, password, and everything that the service knows about them. */
const Account = (): JSX.Element => (
  <Page title={t('nav.account')}>
    <NeedsLogin>
      {person => (
        <>
          <Facts person={person} />
          <Section title={t('account.profile')}>
            <ProfileForm key={person.uuid} person={person} />
          </Section>
          <PasswordForm key={`${person.uuid} password`} person={person} />
          {/* Nobody changes the factors of others, except by a reset. */}
          {!acting.value && <FactorsSection key={`${person.uuid} factors`} />}
          <Section title={t('account.data')}>
            <p class="prose soft">{t('account.data.what')}</p>
            <PersonalData person={person} />
          </Section>
        </>
      )}
    </NeedsLogin>
  </Page>
)

function Facts({ person }: { readonly person: Eperson }): JSX.Element {
  const left = useTimeLeft()
  const { value: groups, loading } = useLoad(
    signal =>
      service.value
        .list<Schemas['Group']>(`/api/eperson/epersons/${person.uuid}/groups`)
        .page(0, 100, signal),
    [person.uuid],
  )
  return (
    <dl class="facts">
      <dt>{t('login.email')}</dt>
      <dd>
        <bdi>{person.email}</bdi>
      </dd>
      <dt>{t('account.groups')}</dt>
      <dd>
        {isAdministrator.value && <span class="tag good">{t('account.administrator')}</span>}{' '}
        {groups ? groups.items.map(({ name }) => name).join(', ') || t('none') : loading ? '…' : '–'}
      </dd>
      <dt>{t('account.method')}</dt>
      <dd>{tOf('method', person.method)}</dd>
      {left !== undefined && (
        <>
          <dt>{t('account.left')}</dt>
          <dd class="number" title={formatAgo(new Date(Date.now() + left * 1000).toISOString())}>
            {formatDuration(left)} <span class="soft small">{t('account.left.help')}</span>
          </dd>
        </>
      )}
    </dl>
  )
}

function PersonalData({ person }: { readonly person: Eperson }): JSX.Element {
  const work = useWork(async () => {
    const content = JSON.stringify(await personalData(person), null, 2)
    save(new Blob([content], { type: 'application/json' }), `carrel-${person.email}.json`)
  })
  return (
    <div class="stack">
      <div class="row">
        <Button icon={Download} label={t('account.data.download')} onClick={work.run} aria-busy={work.busy} />
      </div>
      <ProblemNotice problem={work.problem} />
    </div>
  )
}

export default Account

/**
 * Collects everything that the service keeps about an eperson and shows them. One file replaces many
 * requests.
 */
async function personalData({ uuid }: Eperson): Promise<object> {
  const client = service.value
  const all = async (path: string) => {
    const list: unknown[] = []
    for await (const one of client.list(path)) list.push(one)
    return list
  }
  const condition = JSON.stringify(uuid)
  const [profile, groups, sessions, tokens, factors, events] = await Promise.all([
    client.get(`/api/eperson/epersons/${uuid}`),
    all(`/api/eperson/epersons/${uuid}/groups`),
    all('/api/authn/sessions').catch(() => []),
    all('/api/authn/tokens').catch(() => []),
    loadFactors().catch(() => null),
    client.get(pathOf(), {
      query: { query: `audit_events { eperson = ${condition} or actor = ${condition} order by id desc }` },
    }),
  ])
  return { made: new Date().toISOString(), profile, groups, sessions, tokens, factors, events }
}
