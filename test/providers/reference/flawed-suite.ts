import { remoteProviderContract } from '../../contracts/remote-provider.contract.js';
import { FLAWS } from './flawed-providers.js';
import { referenceSubject } from './reference-subject.js';

/** The suites that must fail; `flawed-providers.test.ts` runs them in another process. */
for (const [name, Provider, , kind = 'by-token'] of FLAWS)
  remoteProviderContract(referenceSubject(kind, name, (options) => new Provider(options)));
