import type { IconNode } from 'lucide'
import type { JSX } from 'preact'
import { t } from '../i18n/i18n.ts'
import { House, Library, LogIn, MessageCircleQuestionMark, Table2, TextSearch } from '../icons.ts'
import { ownEntities } from '../in-order.ts'
import { navigation } from '../pages.tsx'
import { LinkButton } from '../parts/controls.tsx'
import { Icon } from '../parts/Icon.tsx'
import { loginHref } from '../parts/states.tsx'
import { href, path } from '../router.ts'
import { isAdministrator, who } from '../session.ts'
import { repositoryName } from '../settings.ts'
import { AccountMenu } from './AccountMenu.tsx'
import { Appearance } from './Appearance.tsx'
import { Brand } from './Brand.tsx'
import { GoToButton } from './Keyboard.tsx'

/** Maximum number of entities in the sidebar; the first page lists all. */
const most = 12

export const Sidebar = (): JSX.Element => (
  <section class="sidebar" aria-label={repositoryName}>
    <Brand />
    <GoToButton />
    <nav class="nav" aria-label={t('nav')}>
      <ul>
        <To path="" icon={House} name={t('nav.home')} />
        <To path="items" icon={Library} name={t('nav.items')} />
        <To path="search" icon={TextSearch} name={t('search.title')} />
        <To path="questions" icon={MessageCircleQuestionMark} name={t('questions')} />
      </ul>
      {ownEntities.value.length > 0 && (
        <section>
          <h2>{t('nav.records')}</h2>
          <ul>
            {ownEntities.value.slice(0, most).map(({ name }) => (
              <To key={name} path={`entities/${encodeURIComponent(name)}`} icon={Table2} name={name} />
            ))}
          </ul>
        </section>
      )}
      {isAdministrator.value && (
        <section>
          <h2>{t('nav.administration')}</h2>
          <ul>
            {navigation.map(one => (
              <To key={one.path} path={one.path} icon={one.icon} name={t(one.name)} />
            ))}
          </ul>
        </section>
      )}
    </nav>
    <div class="sidebar-end">
      <div class="account">
        {who.value.kind === 'nobody' ? (
          <LinkButton icon={LogIn} to={{ href: loginHref() }}>
            <span>{t('login')}</span>
          </LinkButton>
        ) : (
          <AccountMenu />
        )}
      </div>
      <Appearance />
    </div>
  </section>
)

/** True if the path or a page below it is open. */
const isHere = (to: string) => path.value === to || (to !== '' && path.value.startsWith(`${to}/`))

interface Parts {
  readonly path: string
  readonly icon: IconNode
  readonly name: string
}

const To = ({ path: to, icon, name }: Parts): JSX.Element => (
  <li>
    <a href={href(to)} {...(isHere(to) ? { 'aria-current': 'page' } : {})}>
      <Icon of={icon} />
      <span>{name}</span>
    </a>
  </li>
)
