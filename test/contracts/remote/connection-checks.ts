import { expect } from 'chai';
import type { Provider } from '../../../core/ports/provider.js';
import { WANTED } from '../provider.contract.js';
import type { Case, Cases } from './cases.js';
import type { Fault } from '../../providers/fakes/fake-server.js';
import type { RemoteProviderSupports } from './subject.js';

const FAULTS: readonly (readonly [name: string, fault: Fault])[] = [
  ['the connection is closed', { type: 'drop' }],
  ['a page of HTML answers with status 502', { type: 'html', status: 502 }],
  ['status 503 answers without a body', { type: 'status', status: 503 }],
];

export function describeChecks(proves: Cases, { checksKey }: RemoteProviderSupports): void {
  proves('finds nothing wrong with a connection that works, and makes nothing', async (one) => {
    expect(await faultsOf(one, one.provider)).to.deep.equal([]);
    expect(one.server.posts).to.equal(0);
  });

  proves('says in one sentence that nothing listens, and that the server does not speak TLS', async (one) => {
    const closed = await one.elsewhere();
    await closed.close();
    expect(await faultsOf(one, await one.openedAt(closed.url))).to.have.length(1);
    expect(await faultsOf(one, await one.openedAt(`https://127.0.0.1:${one.server.port}`))).to.have.length(1);
  });

  proves('says in one sentence that a server is another one', async (one) => {
    const stranger = await one.elsewhere();
    expect(await faultsOf(one, await one.openedAt(stranger.url))).to.have.length(1);
    expect(stranger.posts).to.equal(0);
  });

  for (const [name, fault] of FAULTS) {
    proves(`says in a sentence that something is wrong when ${name}`, async (one) => {
      one.server.plan(fault, { of: 'check' });
      expect(await faultsOf(one, one.provider)).to.not.have.length(0);
      expect(one.server.posts).to.equal(0);
    });
  }

  if (!checksKey) it.skip('says that the key is wrong (skipped: this provider cannot tell)');
  else
    proves('says in one sentence that the key is wrong, and repeats none', async (one) => {
      const { openedWithKey } = one.original;
      if (openedWithKey === undefined) throw new Error('The subject needs `openedWithKey`.');
      const faults = await faultsOf(one, one.seen.watched(await openedWithKey('wrong-key-of-the-contract')));
      expect(faults).to.have.length(1);
      expect(faults[0]).to.not.include('wrong-key-of-the-contract');
    });
}

async function faultsOf({ settings }: Case, provider: Provider): Promise<readonly string[]> {
  if (provider.check === undefined) throw new Error('The provider has no check.');
  return (await provider.check([settings], WANTED)).faults;
}
