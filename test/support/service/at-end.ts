import type { TestContext } from 'node:test'

const endings = new WeakMap<TestContext, (() => unknown)[]>()

/**
 * Runs work at the end of a test, last registered first. The runner's own `after` runs in order, which would
 * remove folders before the services that write to them.
 */
export function atEnd(t: TestContext, work: () => unknown): void {
  const known = endings.get(t)
  if (known) {
    known.push(work)
    return
  }
  const stack = [work]
  endings.set(t, stack)
  t.after(async () => {
    const failed: unknown[] = []
    // The stack is emptied, because the runner keeps each test to the end, and with it everything that is
    // referenced here.
    for (let one = stack.pop(); one; one = stack.pop())
      try {
        await one()
      } catch (error) {
        failed.push(error)
      }
    if (failed.length > 0) throw failed[0]
  })
}
