/** Renders the chart for every case into test/deploy/rendered. Requires helm. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { CASES, headerOf, pathOf, renderedFileOf, templateArguments } from './chart-files.js';
import { findHelm } from './tools.js';

const helm = findHelm();
if (typeof helm === 'string') throw new Error(helm);
for (const name of CASES) {
  const { code, output, complaint } = helm.run(templateArguments(name));
  if (code !== 0) throw new Error(complaint);
  const path = pathOf(renderedFileOf(name));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, headerOf() + output);
  console.log(path);
}
