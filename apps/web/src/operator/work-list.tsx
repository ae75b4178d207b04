import { numberText, timeText } from '../format.js';
import { MoreButton, Button } from '../parts/buttons.js';
import { Card, Figures, Loaded, Row, Rows } from '../parts/parts.js';
import { afterChange, usePages } from '../use-data.js';
import { CancelButton } from './act-button.js';
import { ageText, type Generation, type Work } from './server-types.js';
import { linkTo } from './places.js';

interface Answer {
  readonly now: string;
  readonly work: readonly Work[];
  readonly next_cursor?: string;
}

/** The generations of all accounts that hold credits: queued, running, and ended but not settled. */
export function WorkList() {
  const work = usePages<'work', Work, Answer>('/operator/work', 'work');
  const again = afterChange(work.reload, 'work');
  return (
    <Card id="work" title="Of all accounts" note="The oldest first. Credits are held for each of these.">
      <Loaded data={work} what="open work">
        {({ now }) => (
          <>
            <Ages work={work.items} now={now} hasMore={work.more !== undefined} />
            <Rows items={work.items} empty="Nothing is open: no credits are held.">
              {(one) => <WorkRow key={one.generation_id} work={one} now={now} again={again} />}
            </Rows>
            <div class="row wrap">
              <MoreButton pages={work} what="open work" />
              <Button isSmall onClick={() => void again('The list is up to date.')}>
                Read again
              </Button>
            </div>
          </>
        )}
      </Loaded>
    </Card>
  );
}

interface AgesProps {
  readonly work: readonly Work[];
  readonly now: string;
  readonly hasMore: boolean;
}

/** The oldest hold of all, and what has waited and run longest of those that are shown, which are the oldest. */
function Ages({ work, now, hasMore }: AgesProps) {
  const figure = (name: string, among: readonly Work[]) => {
    const since = among[0]?.held_at;
    return {
      name,
      value: since === undefined ? 'none' : ageText(since, now),
      note: `${numberText(among.length)}${hasMore ? ' of the oldest' : ' in all'}`,
    };
  };
  const figures = [
    figure('Oldest hold', work),
    figure('Waiting longest', withStatus(work, 'queued')),
    figure('Running longest', withStatus(work, 'running')),
  ];
  return <Figures figures={figures} />;
}

function withStatus(work: readonly Work[], status: 'queued' | 'running'): readonly Work[] {
  return work.filter(({ generation }) => generation?.status === status);
}

interface WorkRowProps {
  readonly work: Work;
  readonly now: string;
  readonly again: (sentence: string) => Promise<void>;
}

function WorkRow({ work, now, again }: WorkRowProps) {
  const { generation, account_id: account, generation_id: id } = work;
  return (
    <Row
      title={generation === undefined ? 'No generation' : linkTo('operator-queue', generation.model_key, id)}
      badge={statusText(work)}
      actions={
        generation !== undefined && isOpen(generation) ? <CancelButton generation={generation} done={again} /> : null
      }
      facts={[
        ['Account', linkTo('operator-accounts', work.account_name ?? account, account)],
        ['For', ageText(work.held_at, now)],
        ['Since', timeText(work.held_at)],
        ['Held', numberText(work.held_credits)],
        ['Provider', generation?.provider],
        ['Generation id', id],
      ]}
    />
  );
}

/** Whether it has not ended. */
export function isOpen({ status }: Generation): boolean {
  return status === 'queued' || status === 'running';
}

function statusText({ generation }: Work): string {
  if (generation === undefined) return 'created right now, or cut off';
  const { status, cancel_requested_at: askedAt } = generation;
  if (status === 'running' && askedAt !== undefined) return 'asked to stop';
  return status === 'queued' || status === 'running' ? status : `${status}, not settled`;
}
