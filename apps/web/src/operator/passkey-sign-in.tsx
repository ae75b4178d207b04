import { Card } from '../parts/card.js';
import { path } from '../router.js';
import type { Overview } from '../server-types.js';

/** Leads through another sign-in, and back to this page. */
export function SignInWithPasskey() {
  return (
    <form method="post" action={`/sign-out?return=${encodeURIComponent(path.value)}`}>
      <button type="submit" class="outline small">
        Sign in again with a passkey
      </button>
    </form>
  );
}

/** In place of a page of the area, for an operator who has signed in another way. */
export function PasskeyNeeded({ overview: { person } }: { readonly overview: Overview }) {
  return (
    <Card id="passkey-needed" title="A passkey is needed">
      {person.has_passkey ? (
        <>
          <p>You are an operator, and have signed in another way. What operators see takes a sign-in with a passkey.</p>
          <SignInWithPasskey />
        </>
      ) : (
        <p>
          You are an operator, and have no passkey any more. Have another operator demote you with{' '}
          <code>darkroom people demote</code>, add a passkey under Sign-in, and be promoted again.
        </p>
      )}
    </Card>
  );
}

/** Above a page of the area, while it can be read and nothing can be changed. */
export function RecentSignInNeeded() {
  return (
    <div class="notice">
      <p>You signed in more than 15 minutes ago. To change anything here, sign in again.</p>
      <SignInWithPasskey />
    </div>
  );
}
