import type { Overview } from '../server-types.js';

interface SignInAgainProps {
  readonly overview: Overview;
  /** What it is for, as in "To add one". */
  readonly toDo: string;
}

/** What takes a sign-in of the last 15 minutes begins with another sign-in. */
export function SignInAgain({ overview: { person, session }, toDo }: SignInAgainProps) {
  // Who came by a link that works once could not come again.
  if (session.method === 'link' && !person.has_password && !person.has_passkey)
    return (
      <p class="quiet">{`To ${toDo}, ask the operator for another sign-in link, and use it within 15 minutes.`}</p>
    );
  return (
    <form method="post" action="/sign-out?return=/console/sign-in" class="again">
      <p class="quiet">{`To ${toDo}, sign in again: your last sign-in was more than 15 minutes ago.`}</p>
      <button type="submit" class="outline secondary small">
        Sign in again
      </button>
    </form>
  );
}
