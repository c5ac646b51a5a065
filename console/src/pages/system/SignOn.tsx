import type { JSX } from 'preact'
import { a } from '../../i18n/admin.ts'
import { KeyRound, RotateCw } from '../../icons.ts'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad } from '../../parts/load.ts'
import { Empty, Loading, ProblemView, Progress } from '../../parts/states.tsx'
import { who } from '../../session.ts'
import { Explain } from './Explain.tsx'
import { Findings } from './Findings.tsx'
import { SystemPage } from './SystemPage.tsx'
import { loadSignOn } from './system.ts'

/** The reports of `carrel sso check` and `carrel sso explain`. */
function SignOn(): JSX.Element {
  const { value, problem, loading, reload } = useLoad(loadSignOn, [who.value])
  const isOff = value?.configured === false
  return (
    <SystemPage
      title={a('sign-on.tab')}
      lead={a('sign-on.lead')}
      actions={
        !isOff && (
          <button type="button" class="button" onClick={reload} aria-busy={loading}>
            <Icon of={RotateCw} />
            {a('doctor.again')}
          </button>
        )
      }
    >
      <Progress busy={loading && value !== undefined} />
      {isOff ? (
        <Empty icon={KeyRound} title={a('sign-on.off')} help={a('sign-on.off.help')} />
      ) : problem ? (
        <ProblemView problem={problem} retry={reload} />
      ) : (
        <>
          {value ? <Findings report={value} /> : <Loading />}
          <section class="section">
            <h2>{a('explain.title')}</h2>
            <p class="soft prose">{a('explain.help')}</p>
            <Explain />
          </section>
        </>
      )}
    </SystemPage>
  )
}

export default SignOn
