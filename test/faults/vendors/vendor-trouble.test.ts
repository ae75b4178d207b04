/**
 * Goal: a vendor trouble hits the calls that it is for and no others, whatever other troubles are active, and ends; and
 * the vendor's log counts as received only what was sent. Method: the fake of ComfyUI, called by the platform's own
 * client.
 */
import { expect } from 'chai';
import { until } from '../../fixtures/clocks.js';
import { ComfyUiFake } from '../../providers/fakes/comfyui-fake.js';
import { comfyUiLog } from './vendor-log.js';
import { sufferAtVendor, type VendorTrouble } from './vendor-trouble.js';

const CALLS = {
  'polls-fail': ['GET', '/api/jobs/4f1b0c5e-0000-4000-8000-000000000000'],
  'outputs-fail': ['GET', '/view?type=output&subfolder=&filename=a.png'],
  'cancels-fail': ['POST', '/queue'],
  'uploads-fail': ['POST', '/upload/image'],
} as const satisfies Partial<Record<VendorTrouble, readonly [string, string]>>;
const KINDS = Object.keys(CALLS) as (keyof typeof CALLS)[];

describe('troubles of vendors', () => {
  let fake: ComfyUiFake;
  beforeEach(async () => {
    fake = await ComfyUiFake.open();
  });
  afterEach(() => fake.close());

  const call = async (kind: keyof typeof CALLS, signal?: AbortSignal): Promise<string> => {
    const [method, path] = CALLS[kind];
    const isForm = kind === 'uploads-fail';
    const body = isForm ? new FormData() : '{}';
    try {
      const answer = await fetch(fake.url + path, {
        method,
        ...(method === 'GET' ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      });
      await answer.arrayBuffer();
      return String(answer.status);
    } catch (error) {
      return (error as Error).name;
    }
  };

  it('meet every second call of their kind, and none of another, also several at once', async () => {
    const callEach = () => Promise.all(KINDS.map((kind) => call(kind)));
    const first = await callEach();
    const suffering = KINDS.map((kind) => sufferAtVendor(fake.server, kind));
    for (let round = 1; round <= 2; round += 1) {
      for (const kind of KINDS) expect(await call(kind), `${kind}, the first of a round`).to.match(/^TypeError$|^502$/);
      expect(await callEach(), 'the second').to.deep.equal(first);
      expect(suffering.map(({ hits }) => hits)).to.deep.equal(KINDS.map(() => round));
    }
  });

  it('end when they are cured, without curing another', async () => {
    const [outputs, uploads] = (['outputs-fail', 'uploads-fail'] as const).map((one) =>
      sufferAtVendor(fake.server, one),
    );
    const healthy = await call('polls-fail');
    uploads?.cure();
    expect(await call('uploads-fail')).to.equal('400');
    expect(await call('outputs-fail')).to.equal('TypeError');
    outputs?.cure();
    expect(await call('outputs-fail')).to.equal('404');
    expect(await call('polls-fail')).to.equal(healthy);
  });

  it('leave every call to a silent vendor without an answer, and carry none out', async () => {
    const silence = sufferAtVendor(fake.server, 'silence');
    for (const [index, kind] of KINDS.entries()) {
      const patience = new AbortController();
      const called = call(kind, patience.signal);
      await until(() => silence.hits > index);
      patience.abort();
      expect(await called).to.equal('AbortError');
    }
    expect(silence.hits).to.equal(KINDS.length);
    expect(fake.server.requests.map(({ timesHandled }) => timesHandled)).to.deep.equal(KINDS.map(() => 0));
    silence.cure();
    expect(await call('uploads-fail')).to.equal('400');
  });

  it('hide answers, which nobody has heard then', async () => {
    const notFound = () => comfyUiLog('west', fake.server.requests, []).notFound.length;
    const trouble = sufferAtVendor(fake.server, 'polls-fail');
    await call('polls-fail');
    expect([fake.server.requests[0]?.timesHandled, notFound()]).to.deep.equal([1, 0]);
    trouble.cure();
    await call('polls-fail');
    expect(notFound()).to.equal(1);
  });
});
