import assert from 'node:assert/strict'
import { behindProxy, guesserOf } from '../support/clients/guesser.ts'
import { letPass } from '../support/data/attempts.ts'
import { ruthEmail, startWithRuth } from '../support/data/ruth.ts'
import { isLong } from '../support/scale.ts'
import { test } from '../support/service/engines.ts'
import { passwordOf } from '../support/service/service.ts'

const home = '192.0.2.7'
const minute = 60_000
/** Number of an attacker's attempts per minute, in addition to those made as soon as there is no pause. */
const tries = 30

// CI checks the same arithmetic without a service, in test/model/throttle.test.ts.
for (const addresses of isLong ? [1, 1_000] : [])
  test(`L8 an attacker with ${addresses} addresses gets at most 100 guesses an hour, and the owner logs in all the time`, async t => {
    const { service } = await startWithRuth(t, behindProxy)
    const { guess } = await guesserOf(service)
    const right = passwordOf(ruthEmail)
    assert.equal((await guess(home, ruthEmail, right)).status, 200)
    const begun = performance.now()
    let [guesses, refused] = [0, 0]
    for (let at = 0; at < 60; at++) {
      for (let misses = 0; misses < tries; ) {
        const from = Math.floor(Math.random() * addresses)
        const { status } = await guess(`10.0.${from >> 8}.${from & 255}`, ruthEmail)
        if (status === 401) guesses++
        else {
          assert.equal(status, 429)
          refused++
          misses++
          // Simulates the time between two attempts.
          await letPass(service, minute / tries)
        }
      }
      assert.equal((await guess(home, ruthEmail, right)).status, 200, `minute ${at}`)
    }
    t.diagnostic(`${guesses} guesses were looked at, ${refused} refused; 60 of 60 logins of the owner`)
    // Real time passes, too, and allows one more guess per minute.
    const most = 100 + Math.floor((performance.now() - begun) / minute)
    assert.ok(guesses <= most, `${guesses} guesses`)
    assert.ok(guesses >= (addresses === 1 ? 15 : 60), `${guesses} guesses: the simulation lets time pass`)
  })
