import type { Overview } from '../server-types.js';
import { IdentityList } from './identity-list.js';
import { PasskeyList } from './passkey-list.js';
import { PasswordCard } from './password-card.js';
import { SessionList } from './session-list.js';

interface SignInSectionProps {
  readonly overview: Overview;
  readonly reload: () => Promise<void>;
}

/** How the person signs in, and where they are signed in. */
export function SignInSection({ overview, reload }: SignInSectionProps) {
  return (
    <>
      <PasswordCard overview={overview} reload={reload} />
      <PasskeyList overview={overview} reload={reload} />
      <IdentityList overview={overview} />
      <SessionList />
    </>
  );
}
