/*
 * Goal: a provider of a remote service makes at most one request for one task, reports only what is certain, and
 * survives any answer of its server; none of its answers shows a secret, an address or the vendor's words.
 * Method: the provider is connected to a fake of its vendor, which meets its requests with faults; requests are counted where they
 * arrive. The last part runs all of core on the provider, with processes that die.
 */
import { expect } from 'chai';
import { casesOf } from './remote/cases.js';
import { describeChecks } from './remote/connection-checks.js';
import { describeCancels, describeFollowing, describeRecovery } from './remote/following.js';
import { describeImmediateOutputs, describeOutputs } from './remote/outputs.js';
import { describeReferences } from './remote/references.js';
import { describeRefusals, describeSecrets } from './remote/refusals.js';
import type { RemoteProviderSubject } from './remote/subject.js';
import { describeSubmissions } from './remote/submissions.js';
import { describeWholeCore } from './remote/whole-core.js';

export type {
  FailureCase,
  OpenedRemoteProvider,
  RefusalCase,
  RemoteProviderSubject,
  RemoteProviderSupports,
} from './remote/subject.js';

/** Adds the suite to mocha. `providerContract` holds for the same provider; run both. */
export function remoteProviderContract(subject: RemoteProviderSubject): void {
  const { supports } = subject;
  const proves = casesOf(subject);
  describe(`Remote provider contract: ${subject.name}`, () => {
    proves('promises what its subject says, in every process', async ({ provider, settings, reopened }) => {
      expect(provider.capabilities(settings)).to.deep.equal(supports.capabilities);
      expect((await reopened()).capabilities(settings)).to.deep.equal(supports.capabilities);
      expect(supports.capabilities.settleMs, 'a request may still be on its way').to.be.greaterThan(0);
    });

    describe('submissions', () => describeSubmissions(proves, supports));
    describe('references', () => describeReferences(proves));
    describe('refusals', () => describeRefusals(proves, subject));
    describe('recovery', () => describeRecovery(proves, supports));
    if (supports.capabilities.answersWithOutputs)
      describe('outputs in the answer', () => describeImmediateOutputs(proves, subject));
    else {
      describe('polls', () => describeFollowing(proves, subject));
      describe('outputs', () => describeOutputs(proves, supports));
      describe('cancels', () => describeCancels(proves, supports));
    }
    describe('checks of the connection', () => describeChecks(proves, supports));
    describe('secrets', () => describeSecrets(proves));
    describe('all of core', () => describeWholeCore(proves, subject));
  });
}
