import { expect } from 'chai';
import type { IncomingMessage } from 'node:http';
import { preferredWait } from '../../../../apps/http/host/request.js';

function waitOf(...values: readonly string[]): number | undefined {
  const headers = values.length === 0 ? {} : { prefer: values.join(', ') };
  return preferredWait({ headers, rawHeaders: values.flatMap((value) => ['Prefer', value]) } as IncomingMessage);
}

/** RFC 7240: preferences are a list, over several headers too; what is not understood is ignored. */
describe('Prefer: wait', () => {
  const cases: readonly (readonly [values: readonly string[], seconds: number | undefined])[] = [
    [[], undefined],
    [['wait=1'], 1],
    [['wait=60'], 60],
    [['wait=61'], 60],
    [['wait=999999999'], 60],
    [['WAIT = 5'], 5],
    [['wait="7"'], 7],
    [['wait=10; strict'], 10],
    [['respond-async, wait=10'], 10],
    [['respond-async', 'wait=3'], 3],
    [['wait=3, wait=9'], 3],
    [['wait=3', 'wait=9'], 3],
    [['wait=0'], undefined],
    [['wait=0, wait=9'], undefined],
    [['wait=-1'], undefined],
    [['wait=1.5'], undefined],
    [['wait=ten'], undefined],
    [['wait='], undefined],
    [['wait'], undefined],
    [['wait=9999999999'], undefined],
    [['waiting=5'], undefined],
    [['handling=lenient'], undefined],
    [[''], undefined],
    [[',,;=,"'], undefined],
  ];
  for (const [values, seconds] of cases)
    it(`${JSON.stringify(values)} waits ${seconds ?? 'not at all'}`, () => {
      expect(waitOf(...values)).to.equal(seconds);
    });
});
