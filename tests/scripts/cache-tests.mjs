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
await runTests(suites, fetch, false, base)
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
