"""Broker properties of security: TLS, SASL, authorization, delegation tokens.

This broker does not secure its listeners yet; a file that asks for TLS or SASL is refused by `listeners.py` rather
than served in the clear, so these are definitions only.
"""

from __future__ import annotations

from typing import Final

from caudal.broker.config.broker_tables.rows import (
    HIGH,
    LOW,
    PER_BROKER,
    boolean,
    class_name,
    double,
    integer,
    items,
    long,
    password,
    short,
    string,
)
from caudal.broker.config.definition import at_least, between, one_of

SECURITY: Final = (
    # TLS.
    string("ssl.keystore.location", None, "File of the key store.", scope=PER_BROKER, idle=True),
    password("ssl.keystore.password", None, "Password of the key store.", scope=PER_BROKER, idle=True),
    string("ssl.keystore.type", "JKS", "Format of the key store.", scope=PER_BROKER, idle=True),
    password("ssl.keystore.key", None, "Private key, in PEM.", scope=PER_BROKER, idle=True),
    password("ssl.keystore.certificate.chain", None, "Certificates, in PEM.", scope=PER_BROKER, idle=True),
    password("ssl.key.password", None, "Password of the private key.", scope=PER_BROKER, idle=True),
    string("ssl.truststore.location", None, "File of the trust store.", scope=PER_BROKER, idle=True),
    password("ssl.truststore.password", None, "Password of the trust store.", scope=PER_BROKER, idle=True),
    string("ssl.truststore.type", "JKS", "Format of the trust store.", scope=PER_BROKER, idle=True),
    password("ssl.truststore.certificates", None, "Trusted certificates, in PEM.", scope=PER_BROKER, idle=True),
    string(
        "ssl.client.auth",
        "none",
        "Whether clients must show a certificate.",
        one_of("required", "requested", "none"),
        scope=PER_BROKER,
        idle=True,
    ),
    string("ssl.protocol", "TLSv1.3", "Protocol of new TLS contexts.", scope=PER_BROKER, idle=True),
    items("ssl.enabled.protocols", ["TLSv1.2", "TLSv1.3"], "TLS versions served.", scope=PER_BROKER, idle=True),
    items("ssl.cipher.suites", [], "Cipher suites served; empty for the library's.", scope=PER_BROKER, idle=True),
    string("ssl.provider", None, "Java security provider.", scope=PER_BROKER, idle=True),
    string("ssl.keymanager.algorithm", "SunX509", "Java key manager.", scope=PER_BROKER, idle=True),
    string("ssl.trustmanager.algorithm", "PKIX", "Java trust manager.", scope=PER_BROKER, idle=True),
    string(
        "ssl.endpoint.identification.algorithm",
        "https",
        "How host names are checked.",
        scope=PER_BROKER,
        importance=LOW,
        idle=True,
    ),
    string(
        "ssl.secure.random.implementation",
        None,
        "Java source of randomness.",
        scope=PER_BROKER,
        importance=LOW,
        idle=True,
    ),
    class_name(
        "ssl.engine.factory.class",
        None,
        "Java class that makes TLS engines.",
        scope=PER_BROKER,
        importance=LOW,
        idle=True,
    ),
    string("ssl.principal.mapping.rules", "DEFAULT", "Rules from certificate name to user.", importance=LOW, idle=True),
    boolean("ssl.allow.dn.changes", False, "Lets a new certificate carry another name.", importance=LOW, idle=True),
    boolean(
        "ssl.allow.san.changes",
        False,
        "Lets a new certificate carry other alternative names.",
        importance=LOW,
        idle=True,
    ),
    # SASL.
    items("sasl.enabled.mechanisms", ["GSSAPI"], "SASL mechanisms served.", scope=PER_BROKER, idle=True),
    string(
        "sasl.mechanism.inter.broker.protocol", "GSSAPI", "SASL mechanism among brokers.", scope=PER_BROKER, idle=True
    ),
    string("sasl.mechanism.controller.protocol", "GSSAPI", "SASL to the controllers.", importance=HIGH, idle=True),
    password("sasl.jaas.config", None, "Login entry of a mechanism.", scope=PER_BROKER, idle=True),
    class_name("sasl.server.callback.handler.class", None, "Java class that checks credentials.", idle=True),
    class_name("sasl.client.callback.handler.class", None, "Java class that gives credentials.", idle=True),
    class_name("sasl.login.callback.handler.class", None, "Java class that logs in.", idle=True),
    class_name("sasl.login.class", None, "Java login class.", idle=True),
    integer("sasl.server.max.receive.size", 524_288, "Largest SASL message.", idle=True),
    string("sasl.kerberos.service.name", None, "Kerberos name of the broker.", scope=PER_BROKER, idle=True),
    string("sasl.kerberos.kinit.cmd", "/usr/bin/kinit", "Kerberos login command.", scope=PER_BROKER, idle=True),
    double("sasl.kerberos.ticket.renew.window.factor", 0.8, "When a ticket is renewed.", scope=PER_BROKER, idle=True),
    double("sasl.kerberos.ticket.renew.jitter", 0.05, "Randomness of that.", scope=PER_BROKER, idle=True),
    long("sasl.kerberos.min.time.before.relogin", 60_000, "Pause between logins.", scope=PER_BROKER, idle=True),
    items(
        "sasl.kerberos.principal.to.local.rules",
        ["DEFAULT"],
        "Rules from principal to user.",
        scope=PER_BROKER,
        idle=True,
    ),
    double(
        "sasl.login.refresh.window.factor",
        0.8,
        "When a login is refreshed.",
        between(0.5, 1.0),
        scope=PER_BROKER,
        idle=True,
    ),
    double(
        "sasl.login.refresh.window.jitter", 0.05, "Randomness of that.", between(0.0, 0.25), scope=PER_BROKER, idle=True
    ),
    short(
        "sasl.login.refresh.min.period.seconds",
        60,
        "Shortest time between refreshes.",
        between(0, 900),
        scope=PER_BROKER,
        idle=True,
    ),
    short(
        "sasl.login.refresh.buffer.seconds", 300, "Margin before expiry.", between(0, 3600), scope=PER_BROKER, idle=True
    ),
    string("sasl.oauthbearer.jwks.endpoint.url", None, "Where the keys of tokens are.", idle=True),
    string("sasl.oauthbearer.token.endpoint.url", None, "Where tokens are issued.", idle=True),
    items("sasl.oauthbearer.expected.audience", [], "Audiences a token may name.", importance=LOW, idle=True),
    string("sasl.oauthbearer.expected.issuer", None, "Issuer a token must name.", importance=LOW, idle=True),
    string("sasl.oauthbearer.scope.claim.name", "scope", "Claim with the scope.", importance=LOW, idle=True),
    string("sasl.oauthbearer.sub.claim.name", "sub", "Claim with the subject.", importance=LOW, idle=True),
    integer("sasl.login.connect.timeout.ms", None, "Wait for the token issuer to connect.", importance=LOW, idle=True),
    integer("sasl.login.read.timeout.ms", None, "Wait for the token issuer to answer.", importance=LOW, idle=True),
    long("sasl.login.retry.backoff.ms", 100, "Pause before a retry of the login.", importance=LOW, idle=True),
    long("sasl.login.retry.backoff.max.ms", 10_000, "Longest such pause.", importance=LOW, idle=True),
    integer("sasl.oauthbearer.clock.skew.seconds", 30, "Difference of clocks tolerated.", importance=LOW, idle=True),
    long(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms", 3_600_000, "Time between key look-ups.", importance=LOW, idle=True
    ),
    long("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", 100, "Pause before a retry.", importance=LOW, idle=True),
    long(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", 10_000, "Longest such pause.", importance=LOW, idle=True
    ),
    class_name("sasl.oauthbearer.jwt.retriever.class", None, "Java class that fetches tokens.", idle=True),
    class_name("sasl.oauthbearer.jwt.validator.class", None, "Java class that checks tokens.", idle=True),
    string("sasl.oauthbearer.scope", None, "Scope asked for.", idle=True),
    string("sasl.oauthbearer.client.credentials.client.id", None, "Client id for the issuer.", idle=True),
    password("sasl.oauthbearer.client.credentials.client.secret", None, "Client secret for the issuer.", idle=True),
    string("sasl.oauthbearer.assertion.algorithm", "RS256", "How assertions are signed.", idle=True),
    string("sasl.oauthbearer.assertion.claim.aud", None, "Audience of assertions.", idle=True),
    integer(
        "sasl.oauthbearer.assertion.claim.exp.seconds",
        300,
        "Life of an assertion.",
        between(0, 86_400),
        importance=LOW,
        idle=True,
    ),
    string("sasl.oauthbearer.assertion.claim.iss", None, "Issuer of assertions.", idle=True),
    boolean("sasl.oauthbearer.assertion.claim.jti.include", False, "Gives assertions a number.", idle=True),
    integer(
        "sasl.oauthbearer.assertion.claim.nbf.seconds",
        60,
        "Time before now from which an assertion holds.",
        between(0, 3600),
        importance=LOW,
        idle=True,
    ),
    string("sasl.oauthbearer.assertion.claim.sub", None, "Subject of assertions.", idle=True),
    string("sasl.oauthbearer.assertion.file", None, "File with a ready assertion.", idle=True),
    string("sasl.oauthbearer.assertion.private.key.file", None, "Key that signs assertions.", idle=True),
    password("sasl.oauthbearer.assertion.private.key.passphrase", None, "Password of that key.", idle=True),
    string("sasl.oauthbearer.assertion.template.file", None, "Template of assertions.", idle=True),
    long("connections.max.reauth.ms", 0, "Time after which clients must authenticate again; 0 for never.", idle=True),
    # Authorization.
    string("authorizer.class.name", "", "Java class of the authorizer; empty for none.", importance=LOW, idle=True),
    string("super.users", "", "Users who may do everything, separated by semicolons.", importance=LOW, idle=True),
    boolean(
        "allow.everyone.if.no.acl.found", False, "Opens resources without ACLs to everyone.", importance=LOW, idle=True
    ),
    # Delegation tokens.
    password("delegation.token.secret.key", None, "Key that signs delegation tokens.", idle=True),
    long("delegation.token.max.lifetime.ms", 604_800_000, "Longest life of a token.", at_least(1), idle=True),
    long("delegation.token.expiry.time.ms", 86_400_000, "Life of a token until renewed.", at_least(1), idle=True),
    long(
        "delegation.token.expiry.check.interval.ms",
        3_600_000,
        "Time between two looks.",
        at_least(1),
        importance=LOW,
        idle=True,
    ),
    string("security.providers", None, "Java security providers.", importance=LOW, idle=True),
    class_name("password.encoder.keyfactory.algorithm", None, "Older password encoder.", importance=LOW, idle=True),
    password("password.encoder.secret", None, "Older password encoder secret.", importance=HIGH, idle=True),
)
