// Goal: the configuration that schemathesis gets beside the OpenAPI document names only existing operations, each with
// a reason, and turns no check off; the tool is pinned.
// Method: its configuration and its requirements are read line by line.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { ROUTES } from '../../apps/http/developer/routes.js';
import { SCHEMATHESIS_CONFIG } from './schemathesis.js';

const CONFIG = readFileSync(SCHEMATHESIS_CONFIG, 'utf8');

describe('the configuration of schemathesis', () => {
  it('excludes only existing operations, each with its reason', () => {
    const named = [...CONFIG.matchAll(/^include-operation-id = (.+)$/gm)].flatMap(([, names = '']) =>
      [...names.matchAll(/"(\w+)"/g)].map(([, name]) => name),
    );
    expect(named).to.not.deep.equal([]);
    expect(ROUTES.map(({ operation }) => operation.operationId)).to.include.members(named);
    for (const [before] of CONFIG.matchAll(/^.*\n\[\[operations\]\]$/gm)) expect(before).to.match(/^# /);
  });

  it('turns no check off and leaves no operation out', () => {
    expect(CONFIG).to.not.match(/enabled|exclude|baseline/);
  });

  it('pins the tool and everything it needs', () => {
    const lines = readFileSync(join(dirname(SCHEMATHESIS_CONFIG), 'requirements.txt'), 'utf8')
      .trim()
      .split('\n');
    expect(lines).to.include('schemathesis==4.32.5');
    for (const line of lines) expect(line).to.match(/^[\w.-]+==[\w.]+$/);
  });
});
