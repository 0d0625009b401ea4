import { fourEyesActs } from '../kernel/values.ts';
import { groupTable, integer, issuer, subset, text } from './types.ts';

/** How people sign in with the identity that their company gave them. */
export const peopleRows = {
  oidcIssuer: {
    ...issuer('SVC_OIDC_ISSUER'),
    help: 'Issuer of the identity server (OpenID Connect), as https://login.acme.example/realms/acme, below which it is discovered; unset = people sign in with access tokens alone. It needs SVC_PUBLIC_URL: /sign-in/callback there is the redirect URI.',
    sharedBy: ['api'],
  },
  oidcClientId: {
    ...text('SVC_OIDC_CLIENT_ID', undefined),
    help: 'Name under which the identity server knows svcctl.',
    sharedBy: ['api'],
  },
  oidcClientSecret: {
    ...text('SVC_OIDC_CLIENT_SECRET', undefined),
    help: 'Secret that the identity server gave to svcctl; unset, and no file either = a public client.',
    secret: true,
  },
  oidcClientSecretFile: {
    ...text('SVC_OIDC_CLIENT_SECRET_FILE', undefined),
    help: 'File with that secret, read again every hour.',
  },
  oidcScopes: {
    ...text('SVC_OIDC_SCOPES', 'openid profile email'),
    help: 'Scopes that svcctl asks the identity server for, separated by spaces; some give groups only with one more.',
    sharedBy: ['api'],
  },
  oidcGroupsClaim: {
    ...text('SVC_OIDC_GROUPS_CLAIM', 'groups'),
    help: 'Claim with the groups of a person, in the ID token or at the userinfo endpoint; with dots a member of an object, as realm_access.roles.',
    sharedBy: ['api'],
  },
  oidcGroups: {
    ...groupTable('SVC_OIDC_GROUPS'),
    help: 'What members of which group may do, as JSON: a preset, or preset or scopes with tenants, as {"ops":"admin","desk":{"preset":"support-readonly","tenants":["TX"]}}. The first row that a person is in counts; rows with the same scopes add their tenants. Who is in none is not let in.',
    sharedBy: ['api'],
  },
  oidcName: {
    ...text('SVC_OIDC_NAME', 'single sign-on'),
    help: 'What the button on the sign-in page says after "Sign in with".',
    sharedBy: ['api'],
  },
  oidcSessionMinutes: {
    ...integer('SVC_OIDC_SESSION_MINUTES', 60, 5, 1440),
    help: 'Minutes after which the identity server must vouch for a person anew: so long at most a session goes on after a group was taken away.',
    sharedBy: ['api'],
  },
  sessionIdleMinutes: {
    ...integer('SVC_SESSION_IDLE_MINUTES', 0, 0, 1440),
    help: 'Minutes after which a console session ends in which nobody has pressed a key or a button, also one of a token; 0 = never.',
    sharedBy: ['api'],
  },
  tokenDays: {
    ...integer('SVC_TOKEN_DAYS', 0, 0, 3650),
    help: 'Days after which any access token expires at the latest that is made from now on, by the API, the console or svcctl; 0 = whenever its maker says. What the machine itself makes (the first admin token, `tokens create --local`) is not bound.',
    sharedBy: ['api'],
  },
  personTokenDays: {
    ...integer('SVC_PERSON_TOKEN_DAYS', 90, 0, 3650),
    help: 'Days after which an access token expires at the latest that a person made who signed in with the company’s identity; 0 = whenever they say.',
    sharedBy: ['api'],
  },
  personVouchDays: {
    ...integer('SVC_PERSON_VOUCH_DAYS', 0, 0, 3650),
    help: 'Days after which tokens that go back to a person are refused unless they have signed in with the company’s identity meanwhile; 0 = never.',
    sharedBy: ['api'],
  },
  fourEyes: {
    ...subset('SVC_FOUR_EYES', fourEyesActs, []),
    help: 'Acts that one asks for and somebody else confirms within 24 hours, separated by commas: erase (records, incidents), delete_days (delete sooner), adopt_store, lift_hold; unset = none. Commands on the machine with these settings ask nobody.',
    sharedBy: ['api'],
  },
} as const;
