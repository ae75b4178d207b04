import { announce } from '../announce.js';
import { Fact } from '../parts/fact.js';
import { browserText, METHOD_TEXTS, timeText } from '../format.js';
import { Card, focusOn } from '../parts/card.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { Loaded } from '../parts/loaded.js';
import { change } from '../server.js';
import type { Session } from '../server-types.js';
import { useData } from '../use-data.js';

/** Where the person is signed in. */
export function SessionList() {
  const sessions = useData<{ readonly sessions: readonly Session[] }>('/sessions');
  const ended = async (said: string): Promise<void> => {
    await sessions.reload();
    announce(said);
    focusOn('sessions');
  };
  return (
    <Card id="sessions" title="Where you are signed in">
      <Loaded data={sessions} what="sessions">
        {({ sessions: shown }) => (
          <>
            <ul class="rows">
              {shown.map((session) => (
                <SessionRow key={session.id} shown={session} ended={() => ended('That browser is signed out.')} />
              ))}
            </ul>
            {shown.length > 1 ? (
              <ConfirmButton
                label="Sign out everywhere else"
                question="Sign out everywhere else?"
                consequence="Every browser but this one has to sign in again. Keys and connected programs go on."
                doIt="Sign out everywhere else"
                action={() => change('/sessions/end-others')}
                done={() => ended('You are signed out everywhere else.')}
              />
            ) : null}
          </>
        )}
      </Loaded>
    </Card>
  );
}

interface SessionRowProps {
  readonly shown: Session;
  readonly ended: () => Promise<void>;
}

function SessionRow({ shown, ended }: SessionRowProps) {
  const browser = browserText(shown.user_agent);
  return (
    <li>
      <div class="row-head">
        <h3>
          {browser}
          {shown.is_current ? <span class="badge">this browser</span> : null}
        </h3>
        {shown.is_current ? null : (
          <ConfirmButton
            label="Sign out"
            fullLabel={`Sign out ${browser}, signed in ${timeText(shown.created_at)}`}
            question={`Sign out ${browser}?`}
            consequence={`It was signed in ${timeText(shown.created_at)} and has to sign in again.`}
            doIt="Sign it out"
            action={() => change(`/sessions/${shown.id}/end`)}
            done={ended}
          />
        )}
      </div>
      <dl class="facts">
        <Fact name="Signed in" text={`${timeText(shown.created_at)}, ${METHOD_TEXTS[shown.method]}`} />
        <Fact name="Ends without use" text={timeText(shown.expires_at)} />
      </dl>
    </li>
  );
}
