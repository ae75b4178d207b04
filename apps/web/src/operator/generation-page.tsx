import { useState } from 'preact/hooks';
import { numberText, timeText } from '../format.js';
import { Button } from '../parts/buttons.js';
import { Card, Facts, Loaded } from '../parts/parts.js';
import { afterChange, useData } from '../use-data.js';
import { CancelButton } from './act-button.js';
import type { Content, Generation } from './server-types.js';
import { linkTo } from './places.js';
import { isOpen } from './work-list.js';

/** One generation of any account; what its client asked for only on request. */
export function GenerationPage({ id }: { readonly id: string }) {
  const path = `/operator/generations/${encodeURIComponent(id)}`;
  const generation = useData<{ readonly generation: Generation }>(path);
  return (
    <>
      <p class="back">{linkTo('operator-queue', 'Open work')}</p>
      <Loaded data={generation} what="the generation">
        {({ generation: shown }) => (
          <>
            <GenerationCard generation={shown} done={afterChange(generation.reload, 'generation')} />
            <ContentCard path={`${path}/content`} />
          </>
        )}
      </Loaded>
    </>
  );
}

interface GenerationCardProps {
  readonly generation: Generation;
  readonly done: (sentence: string) => Promise<void>;
}

function GenerationCard({ generation: g, done }: GenerationCardProps) {
  const open = isOpen(g);
  return (
    <Card id="generation" title={`${g.model_key}, ${g.status}`}>
      {g.error === undefined ? null : <p class="attention bad">{`${g.error.message} (${g.error.code})`}</p>}
      <Facts
        facts={[
          ['Generation id', g.generation_id],
          ['Account', linkTo('operator-accounts', g.account_id, g.account_id)],
          ['App', g.app_id],
          ['Created', timeText(g.created_at)],
          ['Ended', g.completed_at && timeText(g.completed_at)],
          ['Cancel asked', g.cancel_requested_at && timeText(g.cancel_requested_at)],
          [open ? 'Reserved' : 'Charged', numberText(open ? g.reserved_credits : g.charged_credits)],
          ['Attempts', numberText(g.attempts)],
          ['Provider', g.provider],
          ['Worker', g.worker],
          ['Outputs', numberText(g.output_count)],
          ['Trace id', g.client_trace_id],
        ]}
      />
      {open ? (
        <div class="row wrap">
          <CancelButton generation={g} done={done} />
        </div>
      ) : null}
    </Card>
  );
}

function ContentCard({ path }: { readonly path: string }) {
  const [isWanted, setWanted] = useState(false);
  return (
    <Card id="content" title="What its client asked for" note="It belongs to the client. That you read it is recorded.">
      {isWanted ? (
        <ShownContent path={path} />
      ) : (
        <Button isSmall onClick={() => setWanted(true)}>
          Show the prompt
        </Button>
      )}
    </Card>
  );
}

function ShownContent({ path }: { readonly path: string }) {
  const content = useData<Content>(path);
  return (
    <Loaded data={content} what="the prompt">
      {({ prompt, negative_prompt: negative, parameters, reference_upload_ids: references }) => (
        <Facts
          facts={[
            ['Prompt', prompt === '' ? 'none, or no longer kept' : prompt],
            ['Negative prompt', negative],
            ['Parameters', JSON.stringify(parameters)],
            ['References', references.length === 0 ? undefined : references.join(' ')],
          ]}
        />
      )}
    </Loaded>
  );
}
