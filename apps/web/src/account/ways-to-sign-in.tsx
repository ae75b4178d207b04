import type { ComponentChildren } from 'preact';
import { ask, type Question } from '../parts/ask.js';
import { Button } from '../parts/buttons.js';
import { Icon, type IconName } from '../parts/icon.js';
import { SignInButton } from '../parts/parts.js';
import { hasNoWayBack, overview } from '../session.js';

interface ItemProps {
  icon?: IconName;
  name: ComponentChildren;
  note: ComponentChildren;
  /** The buttons. */
  children: ComponentChildren;
}

export function ItemOfList({ icon, name, note, children }: ItemProps) {
  return (
    <li>
      {icon === undefined ? null : <Icon of={icon} />}
      <div class="grow">
        <h3 class="row wrap named">{name}</h3>
        <small>{note}</small>
      </div>
      <div class="row">{children}</div>
    </li>
  );
}

/**
 * Removes a way to sign in. There is no button after 15 minutes; in a page that was left open, the dialog offers another
 * sign-in once the service has refused.
 */
export function RemoveButton({ what, ...question }: Question & { what: string }) {
  if (overview.value?.session.is_recent !== true) return null;
  return (
    <Button kind="danger" isSmall label={`Remove ${what}`} onClick={() => ask(question)}>
      Remove
    </Button>
  );
}

interface SignInAgainProps {
  /** The actions that another sign-in allows, as in "add or remove one"; absent where there are none. */
  acts: readonly (string | false)[];
}

/** An action that requires a sign-in of the last 15 minutes begins with another sign-in. */
export function SignInAgain({ acts }: SignInAgainProps) {
  const { is_recent: isRecent, method } = overview.value?.session ?? {};
  const toDo = acts.filter(Boolean).join(' or ');
  if (isRecent === true || toDo === '') return null;
  // A provider that does not say when it asked proves no recent sign-in, however new the session is.
  const how = hasNoWayBack.value
    ? 'ask the operator for another sign-in link, and use it within 15 minutes.'
    : method === 'provider'
      ? 'sign in again with a password, a passkey or a link from the operator, or once your provider has asked who you are.'
      : 'sign in again: your last sign-in was more than 15 minutes ago.';
  return (
    <div>
      <p class="small muted">{`To ${toDo} one, ${how}`}</p>
      <SignInButton />
    </div>
  );
}
