// Runs the tests of the npm package http-cache-tests, and prints the result of each as a line of JSON.
//
//   node cache-tests.mjs PACKAGE BASE
//
// PACKAGE is the directory of the package, BASE the URL of its server, as its client should request it.
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const [directory, base] = process.argv.slice(2)
const from = file => import(pathToFileURL(path.join(directory, file)))
const fetch = createRequire(path.join(directory, 'cli.mjs'))('node-fetch')

const { default: suites } = await from('tests/index.mjs')
const { runTests, getResults } = await from('client/runner.mjs')
// Twenty at a time: with the default of 100, responses go stale while their tests wait for each other.
await runTests(suites, fetch, false, base, 20)

// A test whose preparation failed was not carried out. On a busy machine, for example, a response with
// `max-age=2` is stale before it is requested again. Such a test is run again, on its own.
const { makeCacheTest, testResults } = await from('client/test.mjs')
const isUnprepared = test => test.kind !== 'check' && testResults[test.id]?.[0] === 'Setup'
for (let round = 0; round < 5; round++) {
  for (const test of suites.flatMap(suite => suite.tests).filter(isUnprepared)) {
    delete testResults[test.id]
    await makeCacheTest(test)
  }
}

const results = getResults()
for (const suite of suites) {
  for (const test of suite.tests) {
    if (!(test.id in results)) continue
    const result = results[test.id]
    console.log(JSON.stringify({
      id: test.id,
      kind: test.kind ?? 'required',
      passed: result === true,
      why: result === true ? '' : result.join(': ')
    }))
  }
}
