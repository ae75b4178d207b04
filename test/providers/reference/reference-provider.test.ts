/*
 * Goal: the contracts of providers can be kept, by a remote one of each kind.
 * Method: the shortest provider that keeps them, over real sockets, with a vendor that has as few routes as one can have.
 */
import { providerContract } from '../../contracts/provider.contract.js';
import { remoteProviderContract } from '../../contracts/remote-provider.contract.js';
import { referenceSubject } from './reference-subject.js';

for (const kind of ['by-token', 'by-id', 'immediate'] as const) {
  const subject = referenceSubject(kind);
  const { isAskedBy, cancels, answersWithOutputs } = subject.supports.capabilities;
  providerContract({
    ...subject,
    supports: { recovery: isAskedBy === 'token', cancellation: cancels === 'running', answersWithOutputs },
  });
  remoteProviderContract(subject);
}
