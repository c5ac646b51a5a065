import type { JSX } from 'preact'
import { a } from '../../i18n/admin.ts'
import { RotateCw } from '../../icons.ts'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad } from '../../parts/load.ts'
import { Loading, ProblemView, Progress } from '../../parts/states.tsx'
import { who } from '../../session.ts'
import { Findings } from './Findings.tsx'
import { SystemPage } from './SystemPage.tsx'
import { loadDoctor } from './system.ts'

/** The report of `carrel doctor`. */
function Doctor(): JSX.Element {
  const { value, problem, loading, reload } = useLoad(loadDoctor, [who.value])
  return (
    <SystemPage
      title={a('system.title')}
      lead={a('doctor.lead')}
      actions={
        <button type="button" class="button" onClick={reload} aria-busy={loading}>
          <Icon of={RotateCw} />
          {a('doctor.again')}
        </button>
      }
    >
      <Progress busy={loading && value !== undefined} />
      {problem ? (
        <ProblemView problem={problem} retry={reload} />
      ) : value ? (
        <Findings report={value} />
      ) : (
        <Loading />
      )}
    </SystemPage>
  )
}

export default Doctor
